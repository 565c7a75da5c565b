from __future__ import annotations

import io
import re
from typing import Any

import pytest

from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.progress.bar import BarProgress
from meritnas.progress.lines import LineProgress
from meritnas.progress.listener import Listener
from meritnas.progress.progress import NoProgress, detail_text, make_progress
from meritnas.progress.run_pace import RunPace


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


LEADS = "75% sure, 7,500 of 8,000 parameters, 32-144-24 leads"


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


CELL = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|none~0|avg_pool_3x3~1|skip_connect~2|"
FUSED = "cell1(left.0, right.1): step1 = linear_glu(y, x) + cell2(cell1, left.0): step1 = sum(x, y)"


def retrain_event(step: int) -> dict[str, Any]:
    return {"kind": "retrain", "step": step, "steps": 10, "seed": 4, "epoch": step}


def plain(shown: str) -> str:
    """Without what moves the cursor and colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "\n")


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
    with Listener(make_progress(quiet=False)) as listener:
        listener({"kind": "run", "run": "here"})
        listener({"kind": "note", "text": "column 'a[b]' is left out"})
        listener(search_event(50))
        listener(search_event(100))
        listener(retrain_event(10))
    shown = terminal.getvalue()
    for words in (
        "note: column 'a[b]' is left out",
        "searching",
        LEADS,
    ):
        assert words in shown
    assert "training" in shown
    assert "seed 4, epoch 10" in shown
    assert "starting" not in shown.splitlines()[-1]


@pytest.mark.parametrize(
    ("leader", "short", "costs", "words"),
    [
        ("32-144-24", "32-144-24", {"params": [7_500, 8_000]}, [LEADS]),
        (
            "32-144-24",
            None,  # as runs of earlier versions have it
            {"params": [7_500, 8_000], "flops": [7_100, 7_200]},
            ["75% sure, 7,500 of 8,000 parameters, 7,100 of 7,200 multiply-adds, 32-144"],
        ),
        (
            CELL,
            nasbench201_space().short(CELL),
            {"params": [73_306, 80_000]},
            ["75% sure, 73,306 of 80,000 parameters, 3x3|"],
        ),
        (
            FUSED,
            "linear_glu(left.0, right.1) sum(cell1, left.0)",
            {"params": [73_306, 80_000]},
            ["75% sure, 73,306 of 80,000 parameters, linear"],
        ),
    ],
)
def test_what_counts_is_seen_on_80_columns(
    leader: str,
    short: str | None,
    costs: dict[str, list[int]],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = terminal_on(monkeypatch)
    with Listener(make_progress(quiet=False)) as listener:
        more = {} if short is None else {"leader_short": short}
        listener({**search_event(50), "leader": leader, "leader_costs": costs, **more})
    (line,) = {line.strip() for line in plain(terminal.getvalue()).splitlines() if "sure" in line}
    assert len(line) <= 78
    for word in words:
        assert word in line


def test_beliefs_in_one_network_are_not_taken_for_certainty() -> None:
    judged = {**search_event(50), "entropy": 0.0}  # so says evolution of its best network so far
    assert detail_text(judged) == "7,500 of 8,000 parameters, 32-144-24 leads"


def compare_event(run: int) -> dict[str, Any]:
    return {"kind": "compare", "strategy": f"way{run}", "seed": 0, "run": run, "runs": 20}


def test_of_several_runs_the_latest_is_shown_below_all(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_on(monkeypatch)
    with Listener(make_progress(quiet=False)) as listener:
        for run in range(1, 21):
            listener(compare_event(run))
            listener(search_event(100))
            listener(retrain_event(10))
    shown = plain(terminal.getvalue())
    assert "note:" not in shown
    last = [line.split() for line in shown[shown.rindex("run 20 of 20") :].splitlines()]
    first = [line[0] for line in last]
    assert first == ["run", "way20,", "searching", "75%", "training", "seed"]
    assert "100%" in last[0]


def test_lines_tell_runs_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with Listener(make_progress(quiet=False)) as listener:
        for run in (1, 2):
            listener(compare_event(run))
            listener(retrain_event(10))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "run 1 of 20: way1, seed 0"
    assert lines[2].startswith("run 2 of 20: way2, seed 0, ")
    assert lines[2].endswith(" left for all")
    assert lines[1] == lines[3] == " training 100%  seed 4, epoch 10"


def test_the_time_left_is_judged_by_runs_that_worked() -> None:
    seconds = 0.0
    pace = RunPace(lambda: seconds)
    pace.begin(1, 4)  # it had ended before
    pace.begin(2, 4)
    assert pace.seconds_left() is None
    pace.working()
    seconds = 10.0
    pace.begin(3, 4)
    assert pace.seconds_left() == 20.0
    pace.working()
    seconds = 14.0
    assert pace.seconds_left() == 16.0


def test_a_bar_that_saw_nothing_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_on(monkeypatch)
    with pytest.raises(KeyError), Listener(make_progress(quiet=False)):
        raise KeyError
    assert "starting" not in terminal.getvalue().splitlines()[-1]


def test_quiet_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_on(monkeypatch)
    assert isinstance(make_progress(quiet=True), NoProgress)
    with Listener(make_progress(quiet=True)) as listener:
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
    assert lines[0].startswith("searching  10%  75% sure, 7,500 of")
    assert lines[-1] == f"searching 100%  {LEADS}"


def test_a_stage_of_few_steps_shows_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress()
    progress.show({**retrain_event(1), "steps": 1})
    assert capsys.readouterr().err == " training 100%  seed 4, epoch 1\n"
