"""How the benchmarks of MANAS judge their targets."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def test_a_target_whose_case_did_not_fit_is_told_as_not_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory, scoreboard = load(monkeypatch, "manas_memory"), load(monkeypatch, "scoreboard")
    rows = [
        {"strategy": name, "cells": cells, "saved_mb": saved, "peak_mb": saved}
        for name, cells, saved in (("manas", 8, 1.0), ("darts", 8, 9.0), ("manas", 20, 2.0))
    ]
    assert [target.met for target in memory.targets(rows)] == [True, None]
    args = argparse.Namespace(quick=False, json=None)
    assert scoreboard.finish(rows, memory.targets(rows), args) == 0
    assert "not judged 20 cells" in capsys.readouterr().out
    fits = [*rows, {"strategy": "darts", "cells": 20, "saved_mb": 4.0, "peak_mb": 4.0}]
    assert [target.met for target in memory.targets(fits)] == [True, False]
    assert scoreboard.finish(fits, memory.targets(fits), args) == 1


def test_regret_that_falls_as_a_power_of_rounds_is_not_taken_for_exponential(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regret = load(monkeypatch, "manas_regret")
    rows = [
        {"method": name, "sequence": sequence, "rounds": 24_000}
        | {"regret": own, "mean": own, "most": own, "bound": 2.0}
        for sequence in regret.SEQUENCES
        for name, own in ((regret.COORDINATED, 1.0), (regret.UNIFORM, 3.0))
    ]
    after = np.arange(1, 33)
    for curve, met in ((np.exp(-after / 4), True), (1 / after, False)):
        last = regret.judged(rows, {regret.BY_RANKS: curve[None]})[-1]
        assert "exponential" in last.text
        assert last.met is met
