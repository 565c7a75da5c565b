"""Is anything lost when a command is killed, and does any damage to a file pass unnoticed?

Kills: each command that writes is ended by SIGKILL right before one of its operations on files
(opening to write, flushing, renaming, deleting, ...), or in the middle of a write, then given
again; a search is resumed. What is in the folder then must be what an undisturbed command leaves,
byte for byte, with nothing beside it. Right after a kill of `retrain`, the run must still predict
what it did, or what it will.

Damages: each file of a run, finished or not, is halved, emptied, deleted, or has one bit flipped.
Each command that reads runs must refuse it with one line (`show` and `report` may note it and go
on), or do the very same as without the damage.

The target: at least 300 of each, and none that is bad.

    python benchmarks/crash.py --jobs 2 --json crash.json
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from crash_trials.damages import STATES, commands_on, damages_to, reader_of, try_damage
from crash_trials.grounds import Grounds
from crash_trials.kills import SCENARIOS, kills_of, reference_of, scenario_of, try_kill
from scoreboard import Target, arguments, finish, show

_LEAST = 300
_A_LINE_EVERY = 200
_QUICK_SCENARIOS, _QUICK_KILLS = ("search",), 30
_QUICK_STATES, _QUICK_DAMAGES = ("in the search",), 37

Row = dict[str, Any]
Trial = Callable[[], Row]


def kill_trials(names: Sequence[str], grounds: Grounds, most: int) -> list[Trial]:
    found: list[Trial] = []
    for name in names:
        scenario = scenario_of(name, grounds)
        reference = reference_of(scenario, grounds)
        kills = kills_of(reference.outcome.operations, most)
        found += [partial(try_kill, scenario, reference, kill, grounds) for kill in kills]
    return found


def damage_trials(states: Sequence[str], grounds: Grounds) -> list[Trial]:
    return [
        partial(try_damage, reader, damage, grounds)
        for state in states
        for reader in [reader_of(name, state, grounds) for name in commands_on(state, grounds)]
        for damage in damages_to(reader.before)
    ]


def done(trials: Sequence[Trial], jobs: int) -> list[Row]:
    """The rows of all trials, some at a time; a line now and then says how far they are."""
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(lambda trial: trial(), trials):
            rows.append(row)
            if len(rows) % _A_LINE_EVERY == 0:
                print(f"{len(rows)} of {len(trials)} trials", file=sys.stderr)
    return rows


def counted(rows: Sequence[Row], kind: str, outcomes: Sequence[str]) -> list[Row]:
    """A row for each command: how many trials, and how many ended in which way."""
    found = Counter((row["command"], row["outcome"]) for row in rows if row["trial"] == kind)
    commands = dict.fromkeys(row["command"] for row in rows if row["trial"] == kind)
    return [
        {
            "command": command,
            f"{kind}s": sum(found[command, one] for one in outcomes),
            **{one: found[command, one] for one in outcomes},
        }
        for command in commands
    ]


def targets(rows: Sequence[Row]) -> list[Target]:
    aims = {
        "kill": "a killed command, given again, ends like an undisturbed one",
        "damage": "damage to a file is refused or changes nothing",
    }
    found = []
    for kind, text in aims.items():
        own = [row["outcome"] == "bad" for row in rows if row["trial"] == kind]
        found.append(Target(f"at least {_LEAST} {kind}s", f"{len(own)}", len(own) >= _LEAST))
        found.append(Target(text, f"not so in {sum(own)} of {len(own)}", not any(own)))
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    parser.add_argument("--most", type=int, default=80, help="kills of one command, about")
    args = parser.parse_args()
    names, states = (_QUICK_SCENARIOS, _QUICK_STATES) if args.quick else (SCENARIOS, STATES)
    with tempfile.TemporaryDirectory() as root:
        grounds = Grounds(Path(root))
        kills, damages = kill_trials(names, grounds, args.most), damage_trials(states, grounds)
        if args.quick:
            kills, damages = kills[::_QUICK_KILLS], damages[::_QUICK_DAMAGES]
        rows = done([*kills, *damages], args.jobs)
    for row in rows:
        if row["outcome"] == "bad":
            print(" | ".join(str(value) for name, value in row.items() if name != "outcome"))
    show("kills", counted(rows, "kill", ("identical", "bad")))
    show("damages", counted(rows, "damage", ("refused", "identical", "bad")))
    return finish(rows, targets(rows), args)


if __name__ == "__main__":
    sys.exit(main())
