from __future__ import annotations

import io
from typing import Any

import pytest

from meritnas.cli.listener import Listener
from meritnas.cli.progress import NoProgress, make_progress
from meritnas.cli.progress_bar import BarProgress
from meritnas.cli.progress_lines import LineProgress


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


LEADS = "32-144-24 leads, 7,500 of 8,000 parameters, 75% sure"


def search_event(step: int) -> dict[str, Any]:
    return {
        "kind": "search",
        "step": step,
        "steps": 100,
        "phase": "joint",
        "leader": "32-144-24",
        "leader_costs": {"params": [7_500, 8_000]},
        "entropy": 0.25,
    }


def retrain_event(step: int) -> dict[str, Any]:
    return {"kind": "retrain", "step": step, "steps": 10, "seed": 4, "epoch": step}


def terminal_on(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replaces standard error; not a fixture, since pytest sets its own before each test."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    return screen


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_on(monkeypatch)
    assert isinstance(make_progress(quiet=False), BarProgress)
    with Listener(quiet=False) as listener:
        listener({"kind": "run", "run": "here"})
        listener({"kind": "note", "text": "column 'a[b]' is left out"})
        listener(search_event(50))
        listener(search_event(100))
        listener(retrain_event(10))
    shown = terminal.getvalue()
    for words in (
        "note: column 'a[b]' is left out",
        "searching",
        "32-144-24 leads, 7,500 of",
    ):
        assert words in shown
    assert "training" in shown
    assert "seed 4, epoch 10" in shown
    assert "starting" not in shown.splitlines()[-1]


def test_a_bar_that_saw_nothing_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_on(monkeypatch)
    with pytest.raises(KeyError), Listener(quiet=False):
        raise KeyError
    assert "starting" not in terminal.getvalue().splitlines()[-1]


def test_quiet_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_on(monkeypatch)
    assert isinstance(make_progress(quiet=True), NoProgress)
    with Listener(quiet=True) as listener:
        listener({"kind": "note", "text": "column 'a' is left out"})
        listener(search_event(50))
    assert terminal.getvalue() == ""


def test_lines_come_every_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    progress = make_progress(quiet=False)
    assert isinstance(progress, LineProgress)
    for step in range(1, 101):
        progress.show(search_event(step))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("searching  10%  32-144-24 leads, 7")
    assert lines[-1] == f"searching 100%  {LEADS}"


def test_a_stage_of_few_steps_shows_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress()
    progress.show({**retrain_event(1), "steps": 1})
    assert capsys.readouterr().err == " training 100%  seed 4, epoch 1\n"
