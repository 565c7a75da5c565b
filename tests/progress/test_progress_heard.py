from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import meritnas
from meritnas.progress.bar import BarProgress
from meritnas.progress.heard import heard, nobody
from meritnas.progress.listener import Listener
from meritnas.progress.notebook import NotebookProgress, Shown

SMALL: dict[str, Any] = {
    "space": meritnas.Tabular(widths=(4, 8), layers=2),
    "epochs": 2,
    "retraining": meritnas.Retraining(epochs=2, seeds=1),
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


def table() -> pd.DataFrame:
    return pd.DataFrame({"a": range(60), "y": [k % 2 for k in range(60)]})


def training(step: int, steps: int = 4) -> dict[str, Any]:
    return {"kind": "retrain", "step": step, "steps": steps, "seed": 3, "epoch": step}


def test_a_script_whose_output_goes_elsewhere_is_told_nothing(
    capfd: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    meritnas.search(table(), "y", **SMALL, out=tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    meritnas.search(table(), "y", **SMALL, out=tmp_path / "run")
    assert out.getvalue() == ""
    assert "searching" in err.getvalue()
    assert "training" in err.getvalue()


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_where_one_of_both_goes_elsewhere_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    with heard(None) as hears:
        assert isinstance(hears, Listener)
        assert isinstance(hears._progress, BarProgress)
    monkeypatch.setattr(sys, name, io.StringIO())
    with heard(None) as hears:
        assert hears is nobody


class Tee:
    """What scripts put in place of standard output to keep a copy."""

    def write(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize("stream", [None, Tee(), closed()], ids=["none", "tee", "closed"])
def test_streams_of_other_kinds_stop_no_search(
    monkeypatch: pytest.MonkeyPatch, stream: object
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", stream)
    with heard(None) as hears:
        assert hears is nobody


def test_who_listens_hears_all_and_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    told: list[dict[str, Any]] = []
    with heard(told.append) as hears:
        hears(training(1))
    assert told == [training(1)]
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


class Cell:
    """What a notebook would show below a cell, as it changes."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []

    def __call__(self, shown: Shown) -> Cell:
        self.shown.append(shown)
        return self

    def update(self, shown: Shown) -> None:
        self.shown.append(shown)


def test_a_notebook_gets_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with heard(None) as hears:
        assert isinstance(hears, Listener)
        assert isinstance(hears._progress, NotebookProgress)
    shell.kernel = None  # a shell on a terminal
    with heard(None) as hears:
        assert hears is nobody


def test_a_notebook_is_told_how_far_it_is() -> None:
    seconds, cell = 0.0, Cell()
    with NotebookProgress(cell, lambda: seconds) as progress:
        progress.note("<b>the column</b> 'a' is left out")
        progress.show(training(1))
        seconds = 0.1  # too soon for another look
        progress.show(training(2))
        before = len(cell.shown)
        seconds = 6.0
        progress.show(training(3))
        assert len(cell.shown) == before + 1
        assert 'value="3" max="4"' in cell.shown[-1].html
        assert "75 %, 3.0 s left" in cell.shown[-1].html
        progress.show(training(4))
    last = cell.shown[-1]
    assert "100 %, 6.0 s" in last.html
    assert "seed 3, epoch 4" in last.html
    assert "&lt;b&gt;the column&lt;/b&gt;" in last.html
    assert repr(last).startswith("training 100 %, 6.0 s")


def test_trainings_after_others_have_a_time_of_their_own() -> None:
    """Those for smaller limits come after the race, which may have been resumed in its middle."""
    seconds, cell = 0.0, Cell()
    with NotebookProgress(cell, lambda: seconds) as progress:
        progress.show(training(3))
        seconds = 8.0
        progress.show(training(4))
        progress.show(training(1))
        seconds = 10.0
        progress.show(training(2))
    assert "50 %, 4.0 s left" in cell.shown[-1].html


def test_of_several_runs_a_notebook_shows_the_latest() -> None:
    cell = Cell()
    with NotebookProgress(cell) as progress:
        for run in (1, 2):
            progress.begin({"strategy": "tabnas", "seed": run, "run": run, "runs": 2})
            progress.show(training(4))
    assert "run 2 of 2: tabnas, seed 2" in cell.shown[-1].html
    assert cell.shown[-1].html.count("<progress") == 1


CODE = """
import pandas as pd, meritnas as mn
frame = pd.DataFrame({"a": range(60), "y": [k % 2 for k in range(60)]})
small = mn.Tabular(widths=(4, 8), layers=2)
again = mn.Retraining(epochs=2, seeds=1)
result = mn.search(frame, "y", space=small, epochs=2, retraining=again, out="run")
"""


def test_a_notebook_that_is_run_shows_progress_and_pictures(tmp_path: Any) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    new = nbformat.v4
    sources = [CODE, "result", "result.architecture", "mn.open_run('run').figure('network')"]
    book = new.new_notebook(cells=[new.new_code_cell(source) for source in sources])
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources=where).execute()
    progress = [one for one in book.cells[0].outputs if "data" in one]
    assert len(progress) == len(book.cells[0].outputs) == 1  # in its place, and no warning
    assert "100 %" in progress[0]["data"]["text/html"]
    for cell in book.cells[1:]:
        assert "data:image/svg+xml;base64," in cell.outputs[0]["data"]["text/html"]
