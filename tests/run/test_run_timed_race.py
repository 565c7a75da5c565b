from __future__ import annotations

from typing import Any

import pytest

from meritnas.data.tables.reading import TableReading
from meritnas.errors import DivergedError
from meritnas.families.tabular.spec import Tabular
from meritnas.run import timed_race
from meritnas.run.begin import begin
from meritnas.settings.request import Request


def test_a_measurement_that_diverges_is_still_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsteady(*_: Any) -> None:
        raise DivergedError

    reading, space = TableReading(scaling="standard"), Tabular(layers=2, widths=(4, 8))
    job, _ = begin("wine", None, Request(space=space, reading=reading))
    monkeypatch.setattr(timed_race, "train_child", unsteady)
    assert timed_race._seconds_for(job, 1, "4-4", 0.0, 1.0) > 0
