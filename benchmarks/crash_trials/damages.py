"""Files of a run that are damaged, under every command that may read them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from crash_trials.files import Files, differences, read_files
from crash_trials.grounds import SAID, Grounds
from crash_trials.process import Outcome, run

Command = tuple[str, ...]

_RANDOM_FLIPS = 2
_OUTPUTS = ("report.html", "*.csv", "*.svg", "export/*", "comparison.json", ".lock")
"""What is written for others: damage to it must not matter at all."""


@dataclass(frozen=True)
class Damage:
    """One file with other content, or None where it is gone."""

    file: str
    name: str
    content: bytes | None = field(repr=False)

    @property
    def to_output(self) -> bool:
        """Whether it is to a file that no command reads."""
        return any(PurePath(self.file).match(one) for one in _OUTPUTS)

    def do(self, folder: Path) -> None:
        if self.content is None:
            (folder / self.file).unlink()
        else:
            (folder / self.file).write_bytes(self.content)


@dataclass(frozen=True)
class Reader:
    """A command on a folder whose files are to be damaged, and what it says and leaves if not."""

    name: str
    run: str
    start: Path
    command: Command
    outcome: Outcome
    before: Files = field(repr=False)
    after: Files = field(repr=False)

    @property
    def looks_only(self) -> bool:
        """Whether a note is enough: it shows what can be shown."""
        return self.command[0] in ("show", "report")


_LOOKING: dict[str, Command] = {name: (name, "run") for name in ("show", "report", "columns")}


def _of_unfinished(grounds: Grounds) -> dict[str, Command]:
    return {**_LOOKING, "search --resume": grounds.resume}


def _of_finished(grounds: Grounds) -> dict[str, Command]:
    answers = ("predict", "run", str(grounds.new), "--json")
    return {
        **_of_unfinished(grounds),
        "predict": answers,
        "predict --network": (*answers, "--network", grounds.rung),
        "explain": ("explain", "run", *SAID),
        "export": ("export", "run", "--to", "python", "--force"),
        "retrain": ("retrain", "run", "--epochs", "1", "--seeds", "1", *SAID),
    }


_STATES: dict[str, Callable[[Grounds], tuple[Path, dict[str, Command]]]] = {
    "in the search": lambda on: (on.in_search, _of_unfinished(on)),
    "in the race": lambda on: (on.in_race, _of_unfinished(on)),
    "finished": lambda on: (on.used, _of_finished(on)),
    "compared": lambda on: (on.compared, {"compare": on.compare}),
}
STATES = tuple(_STATES)
"""In which runs are whose files are damaged."""


def commands_on(state: str, grounds: Grounds) -> tuple[str, ...]:
    """The names of all commands that can be given for a run in this state."""
    return tuple(_STATES[state](grounds)[1])


def reader_of(name: str, state: str, grounds: Grounds) -> Reader:
    """One of those commands, after it was given to an undamaged run."""
    start, commands = _STATES[state](grounds)
    with grounds.copy(start) as folder:
        before = read_files(folder)
        outcome = run(commands[name], folder)
        return Reader(name, state, start, commands[name], outcome, before, read_files(folder))


def damages_to(files: Files) -> Iterator[Damage]:
    """Every file halved, emptied, deleted, and with one bit flipped here and there."""
    for file, content in files.items():
        if content is None:
            continue
        found: dict[str, bytes | None] = {"deleted": None}
        if content:
            found |= {
                "halved": content[: len(content) // 2],
                "emptied": b"",
                **_flips(file, content),
            }
        damages = [Damage(file, name, blob) for name, blob in found.items()]
        # What nobody reads is not worth every one of them.
        yield from damages[::3] if damages[0].to_output else damages


def _flips(file: str, content: bytes) -> dict[str, bytes]:
    rng, length = random.Random(file), len(content)
    some = [rng.randrange(length) for _ in range(_RANDOM_FLIPS)]
    found = {}
    for place in (0, length // 2, length - 1, *some):
        bit = rng.randrange(8)
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        found[f"bit {bit} of byte {place} flipped"] = bytes(flipped)
    return found


def try_damage(reader: Reader, damage: Damage, grounds: Grounds) -> dict[str, Any]:
    """Give the command with the file damaged, and judge what comes of it."""
    with grounds.copy(reader.start) as folder:
        damage.do(folder)
        said = run(reader.command, folder)
        files = read_files(folder)
    outcome, wrong = judge(reader, damage, said, files)
    return {
        "trial": "damage",
        "command": reader.name,
        "run": reader.run,
        "file": damage.file,
        "damage": damage.name,
        "outcome": outcome,
        "wrong": wrong,
    }


def judge(reader: Reader, damage: Damage, said: Outcome, files: Files) -> tuple[str, str]:
    """`identical`, `refused` or `bad`, and what is bad."""
    if said.code is None:
        return "bad", "it hung"
    if said.code < 0 or "Traceback" in said.err:
        return "bad", f"exit code {said.code}: {said.err.strip()[-300:]}"
    wrong = _unlike(reader, damage, said, files)
    if not wrong:
        return "identical", ""
    if damage.to_output:
        return "bad", f"nobody reads this file, and yet {wrong} {said.err.strip()[:200]}"
    if _says_so(reader, damage, said, files, wrong):
        return "refused", ""
    return "bad", wrong


def _unlike(reader: Reader, damage: Damage, said: Outcome, files: Files) -> str:
    """What is otherwise than without the damage."""
    if said.code != reader.outcome.code:
        return f"exit code {said.code}"
    if said.out != reader.outcome.out:
        return "other standard output"
    expected = dict(reader.after)
    if reader.after.get(damage.file) == reader.before.get(damage.file):  # left as it was
        found = files.get(damage.file)
        expected[damage.file] = found if found == damage.content else expected[damage.file]
        if damage.content is None and damage.file not in files:
            del expected[damage.file]
    return "; ".join(differences(files, expected))


def _says_so(reader: Reader, damage: Damage, said: Outcome, files: Files, wrong: str) -> bool:
    """Whether the command was refused with a word, or shows that something is amiss."""
    lines = said.err.splitlines()
    if said.code == 2:
        return sum(line.startswith("error:") for line in lines) == 1
    name = PurePath(damage.file).name
    noted = any(line.startswith("note:") and name in line for line in lines)
    if said.code == 0 and reader.looks_only and noted:
        return True
    page = next(
        (file for file in files if wrong == f"{file} differs" and "report.html" in file), ""
    )
    return bool(page) and name in str(files[page]) and name not in str(reader.after[page])
