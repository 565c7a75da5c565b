"""What is kept of a column of dates that is seen piece by piece."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meritnas.data.columns.as_dates import Dates, read_dates, seconds_of, wall_times
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.moments import Moments
from meritnas.data.columns.row_inputs import PERIODS, place_in_cycle


class DateSketch:
    """Moments of the train rows' dates, and which cycles vary.

    Args:
        like: Some of its rows, read as dates as all others will be.
        lenient: Whether what is no date counts as missing.
    """

    def __init__(self, like: Dates, *, lenient: bool) -> None:
        self._form, self._zone = like.form, like.zone
        self._lenient = lenient
        self._unread = 0
        self._example = ""
        self._seen = Moments()
        self._ends: dict[str, tuple[float, float]] = {}

    def add(self, values: pd.Series, train: np.ndarray) -> bool:
        """Looks at some rows; whether all are dates."""
        dates = read_dates(values, self._form, self._zone, lenient=self._lenient)
        if not isinstance(dates, Dates):
            return False
        self._unread += dates.unread
        self._example = self._example or dates.example
        self._add(dates.of(np.flatnonzero(train)).dropna())
        return True

    def _add(self, present: pd.DatetimeIndex) -> None:
        if not len(present):
            return
        self._seen += Moments.of(seconds_of(present))
        for cycle in PERIODS:
            places = place_in_cycle(wall_times(present), cycle)
            low, high = self._ends.get(cycle, (np.inf, -np.inf))
            ends = min(low, float(places.min())), max(high, float(places.max()))
            self._ends[cycle] = ends

    def column(self, name: str, rows: int) -> DateColumn | str:
        """The column as it is decided on, or why it is left out; of so many train rows."""
        cycles = [cycle for cycle in PERIODS if len(set(self._ends.get(cycle, ()))) > 1]
        missing = self._seen.count < rows
        form, unread = (self._form, self._zone), (self._unread, self._example)
        return DateColumn.of_moments(name, *form, self._seen, missing, cycles, unread)
