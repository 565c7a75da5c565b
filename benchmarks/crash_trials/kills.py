"""Commands that are killed right before an operation on a file, and given again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from crash_trials.files import Files, differences, read_files
from crash_trials.grounds import SAID, Grounds
from crash_trials.operations import Kill, Operation
from crash_trials.process import Outcome, run

Command = tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """A command that is to be killed.

    Attributes:
        name: of the command.
        start: the folder it is given in.
        command: what follows `meritnas`.
        views: commands whose answers, right after the kill, must be as they were before or as
            they are when all is done.
    """

    name: str
    start: Path
    command: Command
    views: tuple[Command, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A scenario without a kill: what it says and leaves, and what its views may say."""

    outcome: Outcome
    files: Files = field(repr=False)
    views: tuple[frozenset[str], ...]


def _views(grounds: Grounds) -> tuple[Command, Command]:
    """What the run's network says, and that of a smaller limit."""
    answers = ("predict", "run", str(grounds.new), "--json")
    return answers, (*answers, "--network", grounds.rung)


_RETRAIN = ("retrain", "run", "--epochs", "3", *SAID)

_MAKERS: dict[str, Callable[[Grounds], tuple[Path, Command, tuple[Command, ...]]]] = {
    "search": lambda on: (on.empty, on.search, ()),
    "search --pareto": lambda on: (on.empty, on.pareto, ()),
    "search --resume, in the search": lambda on: (on.in_search, on.resume, ()),
    "search --resume, in the race": lambda on: (on.in_race, on.resume, ()),
    "retrain": lambda on: (on.finished, (*_RETRAIN, "--seeds", "2"), _views(on)),
    "retrain --architecture": lambda on: (
        on.finished,
        (*_RETRAIN, "--architecture", "8-8-4"),
        _views(on),
    ),
    "explain": lambda on: (on.finished, ("explain", "run", *SAID), ()),
    "report": lambda on: (on.finished, ("report", "run"), ()),
    "export --to python": lambda on: (on.finished, ("export", "run", "--to", "python"), ()),
    "export --to onnx": lambda on: (on.finished, ("export", "run", "--to", "onnx"), ()),
    "predict --out": lambda on: (
        on.finished,
        ("predict", "run", str(on.new), "--out", "answers.csv"),
        (),
    ),
    "compare": lambda on: (on.empty, on.compare, ()),
}
SCENARIOS = tuple(_MAKERS)
"""All commands that write."""


def scenario_of(name: str, grounds: Grounds) -> Scenario:
    """One of `SCENARIOS`."""
    return Scenario(name, *_MAKERS[name](grounds))


def reference_of(scenario: Scenario, grounds: Grounds) -> Reference:
    """What the scenario comes to without a kill."""
    with grounds.copy(scenario.start) as folder:
        before = [_answer(view, folder) for view in scenario.views]
        outcome = run(scenario.command, folder)
        files = read_files(folder)
        after = [_answer(view, folder) for view in scenario.views]
    if outcome.code != 0 or not outcome.operations:
        raise RuntimeError(f"{scenario.name} ended with {outcome.code}: {outcome.err}")
    pairs = zip(before, after, strict=True)
    return Reference(outcome, files, tuple(map(frozenset, pairs)))


def kills_of(operations: Sequence[Operation], most: int) -> list[Kill]:
    """Before every operation, and in the middle of every write; of too many, all of rare kinds."""
    renamed = {PurePath(one.path).name for one in operations if one.kind == "rename"}
    groups: dict[tuple[Any, ...], list[Kill]] = {}
    for number, operation in enumerate(operations):
        kind = (operation.kind, _target(operation.path, renamed))
        groups.setdefault((*kind, False), []).append(Kill(number))
        if number and operations[number - 1].writes:
            groups.setdefault((*kind, True), []).append(Kill(number, torn=True))
    each = max(map(len, groups.values()))
    while each > 1 and sum(min(len(group), each) for group in groups.values()) > most:
        each -= 1
    found = [kill for group in groups.values() for kill in _spread(group, each)]
    return sorted(found, key=lambda kill: (kill.before, kill.torn))


def _target(path: str, known: set[str]) -> str:
    """The file that an operation is about in the end, whatever it is called until then."""
    name = PurePath(path).name
    return max((one for one in known if one in name), key=len, default=name)


def _spread(group: Sequence[Kill], most: int) -> list[Kill]:
    if len(group) <= most:
        return list(group)
    return [group[k * (len(group) - 1) // max(1, most - 1)] for k in range(most)]


def try_kill(
    scenario: Scenario, reference: Reference, kill: Kill, grounds: Grounds
) -> dict[str, Any]:
    """Kill the command, give it again, and say what is otherwise than without the kill."""
    with grounds.copy(scenario.start) as folder:
        killed = run(scenario.command, folder, kill)
        wrong = _changed_views(scenario, reference, folder)
        again = run(_again(scenario, grounds, folder), folder)
        wrong += _unlike(again, reference, read_files(folder))
    if killed.code != -signal.SIGKILL:
        wrong.insert(0, f"it was not killed but ended with {killed.code}")
    return {
        "trial": "kill",
        "command": scenario.name,
        "number": kill.before,
        "operation": " ".join(["half-written," * kill.torn, *killed.err.splitlines()[-1:]]).strip(),
        "outcome": "bad" if wrong else "identical",
        "wrong": "; ".join(wrong),
    }


def _again(scenario: Scenario, grounds: Grounds, folder: Path) -> Command:
    """What a user types who finds a command killed."""
    begun = scenario.command[0] == "search" and (folder / "run" / "config.json").exists()
    return grounds.resume if begun else scenario.command


def _changed_views(scenario: Scenario, reference: Reference, folder: Path) -> list[str]:
    pairs = zip(scenario.views, reference.views, strict=True)
    found = ((view, _answer(view, folder), known) for view, known in pairs)
    return [
        f"then {' '.join(view)} said neither what it did nor what it will: {answer[:200]}"
        for view, answer, known in found
        if answer not in known
    ]


def _answer(view: Command, folder: Path) -> str:
    said = run(view, folder)
    return said.out if said.code == 0 else f"exit code {said.code}: {said.err}"


def _unlike(again: Outcome, reference: Reference, files: Files) -> list[str]:
    """What is otherwise than without a kill; what was done already need not be done again."""
    wrong = differences(files, reference.files)
    done = again.code == 2 and "exists already" in again.err and not wrong
    if done:
        return []
    if again.code != 0:
        wrong.insert(0, f"given again it ended with {again.code}: {again.err.strip()[-300:]}")
    elif again.out != reference.outcome.out:
        wrong.insert(0, f"given again it said {again.out.strip()[:200]}")
    return wrong
