"""A run that has ended is not lost for what cannot be said about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest

import meritnas
from meritnas.run import failing

SHORT: dict[str, Any] = {
    "space": meritnas.Tabular(widths=(4, 8)),
    "epochs": 1,
    "retraining": meritnas.Retraining(epochs=1, seeds=1, finalists=1, plain=False),
}


def table() -> pd.DataFrame:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 2)), columns=["a", "b"])
    return frame.assign(y=frame["a"] * 100 + 500)


def test_a_run_is_finished_though_nobody_can_say_how_it_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> NoReturn:
        raise ValueError("supplied range of [nan, nan] is not finite")

    data = table()
    with monkeypatch.context() as patch:
        patch.setattr(failing, "failures_on", fail)
        found = meritnas.search(data, "y", **SHORT, out=tmp_path / "run")
    assert found.test["r2"] == found.summary["test"]["r2"]
    (note,) = [text for text in found.summary["notes"] if "how the network fails" in text]
    assert "[nan, nan]" in note
    page = (tmp_path / "run" / "report.html").read_text()
    assert "meritnas.explain_failures" in page
    assert meritnas.explain_failures(tmp_path / "run", data)["numbers"]


def test_a_run_without_examples_has_no_value_of_a_row(tmp_path: Path) -> None:
    data, run = table(), tmp_path / "run"
    reading = meritnas.TableReading(examples=False)
    meritnas.search(data, "y", **SHORT, reading=reading, out=run)
    for file in ("failures.json", "report.html"):
        text = (run / file).read_text()
        assert not [value for value in data["y"].iloc[:].map("{:.6g}".format) if value in text]
    sections = re.findall(r'<section id="([\w-]+)"', (run / "report.html").read_text())
    assert "residuals" in sections
    assert "worst" not in sections
    again = meritnas.explain_failures(run, data)
    assert "worst" not in again
    assert "points" not in again["numbers"]
