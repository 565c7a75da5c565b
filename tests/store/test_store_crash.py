"""A few of the trials of benchmarks/crash.py: nothing is lost by a kill, no damage passes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The trials, and the runs they start from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))  # for the processes, too
        modules = {
            name: importlib.import_module(f"crash_trials.{name}")
            for name in ("operations", "grounds", "kills", "damages")
        }
        grounds = modules["grounds"].Grounds(tmp_path_factory.mktemp("crash"))
        yield SimpleNamespace(**{**modules, "grounds": grounds})


@pytest.fixture(scope="module")
def undisturbed(crash: SimpleNamespace) -> Callable[[str], tuple[Any, Any]]:
    """By its name, a command that writes, and what it does if it is not killed."""

    @functools.cache
    def found(name: str) -> tuple[Any, Any]:
        scenario = crash.kills.scenario_of(name, crash.grounds)
        return scenario, crash.kills.reference_of(scenario, crash.grounds)

    return found


@pytest.mark.parametrize(
    ("command", "file", "torn"),
    [
        ("search", "config.json", False),
        ("search", "config.json", True),
        ("search", "events.jsonl", True),
        ("search", "model.safetensors", False),
        ("retrain", "model.safetensors", False),
        ("export --to python", "preprocessing.json", False),
    ],
)
def test_a_killed_command_given_again_ends_like_an_undisturbed_one(
    crash: SimpleNamespace,
    undisturbed: Callable[[str], tuple[Any, Any]],
    command: str,
    file: str,
    torn: bool,
) -> None:
    """Killed before the last thing that it does to a file, or in the middle of the last write."""
    scenario, reference = undisturbed(command)
    touched = [
        number + torn
        for number, one in enumerate(reference.outcome.operations)
        if file in one.path and (one.writes or not torn)
    ]
    kill = crash.operations.Kill(touched[-1], torn)
    row = crash.kills.try_kill(scenario, reference, kill, crash.grounds)
    assert "killed before" in row["operation"]
    assert not row["wrong"]


@pytest.mark.parametrize(
    ("state", "command", "file", "damage"),
    [
        ("in the search", "search --resume", "events.jsonl", "byte 0 flipped"),
        ("in the race", "search --resume", "retrain.safetensors", "byte {last} flipped"),
        ("finished", "predict", "model.safetensors", "byte {last} flipped"),
        ("finished", "predict", "preprocessing.json", "halved"),
        ("finished", "show", "result.json", "deleted"),
        ("finished", "report", "events.jsonl", "emptied"),
        ("finished", "search --resume", "report.html", "deleted"),
    ],
)
def test_damage_to_a_file_is_refused_or_changes_nothing(
    crash: SimpleNamespace, state: str, command: str, file: str, damage: str
) -> None:
    reader = crash.damages.reader_of(command, state, crash.grounds)
    assert reader.outcome.code == 0
    path = f"run/{file}"
    name = damage.format(last=len(reader.before[path]) - 1)
    every = crash.damages.damages_to({path: reader.before[path]})
    [one] = [found for found in every if found.name.endswith(name)]
    row = crash.damages.try_damage(reader, one, crash.grounds)
    assert not row["wrong"]
