from __future__ import annotations

import math
from typing import Any

import pytest

from meritnas.data.tables.reading import TableReading
from meritnas.errors import DivergedError
from meritnas.families.tabular.spec import Tabular
from meritnas.run import timed_race
from meritnas.run.begin import begin
from meritnas.settings.request import Request
from meritnas.training import epoch_time


def test_a_measurement_that_diverges_is_still_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsteady(*_: Any) -> None:
        raise DivergedError

    reading, space = TableReading(scaling="standard"), Tabular(layers=2, widths=(4, 8))
    job, _ = begin("wine", None, Request(space=space, reading=reading))
    monkeypatch.setattr(epoch_time, "train_child", unsteady)
    assert timed_race._measured(job, "4-4", 0.0, 1.0) > 0


@pytest.mark.parametrize(
    ("slowest", "expected"),
    [
        (math.inf, ("slow", "quick", "usual")),
        (3.0, ("slow", "quick", "usual")),
        (1.5, ("quick", "usual")),
        (0.3, ("quick",)),  # the fastest, where all are too slow
    ],
)
def test_finalists_much_slower_than_plain_networks_are_left_out(
    slowest: float, expected: tuple[str, ...]
) -> None:
    seconds = {"slow": 5.0, "quick": 1.0, "usual": 2.9, "plain": 1.5, "residual": 2.5}
    favourites = ("slow", "quick", "usual")
    plain = ("plain", "residual")  # 2 seconds on average
    assert timed_race._swift(seconds, favourites, plain, slowest) == expected
    assert timed_race._swift(seconds, favourites, (), slowest) == favourites
