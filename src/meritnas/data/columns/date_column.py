"""A column taken as dates: time, and the place in month, week and day."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns.as_dates import ISO, Dates, read_dates, seconds_of
from meritnas.data.columns.bound import FARTHEST, bounded
from meritnas.errors import DataError

PERIODS = {"month": 12, "weekday": 7, "hour": 24}
"""How many steps a cycle of a date has."""


@dataclass(frozen=True)
class DateColumn:
    """A column taken as a date: several number inputs, all 0 where it is missing.

    The inputs are the time, standardised up to `FARTHEST`, and for each cycle the sine and the
    cosine of the place in it, so that December is next to January.

    Attributes:
        name: Name in the table.
        form: How text is read: "ISO8601" or a format of `strptime`.
        zone: Time zone in which the hour is told; None if the column has none.
        mean: Mean over the train rows, in seconds since 1970.
        scale: Standard deviation over the train rows, in seconds.
        low: The first of the train rows, in seconds since 1970.
        high: The last of the train rows.
        cycles: Those of month, weekday and hour that vary over the train rows.
        indicator: Whether an input of its own tells that the value is missing.
    """

    name: str
    form: str
    zone: str | None
    mean: float
    scale: float
    low: float
    high: float
    cycles: tuple[str, ...]
    indicator: bool

    @classmethod
    def fit(cls, name: str, dates: Dates, rows: np.ndarray | None) -> DateColumn | str:
        """Looks at the dates of the train rows.

        Args:
            name: Name in the table.
            dates: The column.
            rows: Positions of the train rows, None for all.

        Returns:
            The column, or why it is left out.
        """
        every = dates.of(rows)
        times = every.dropna()
        if len(times) == 0:
            return "all values are missing"
        indicator = len(times) < len(every)
        seconds = seconds_of(times)
        low, high = float(seconds.min()), float(seconds.max())
        if low == high and not indicator:
            return f"constant, {_day(low)} in every row"
        cycles = [cycle for cycle in PERIODS if len(np.unique(_place(times, cycle))) > 1]
        scale = float(seconds.std())
        return cls(
            *(name, dates.form, dates.zone, float(seconds.mean()), scale if scale > 0 else 1.0),
            *(low, high, tuple(cycles), indicator),
        )

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DateColumn:
        """Returns the column that `to_json` gave."""
        return cls(**{**value, "cycles": tuple(value["cycles"])})

    def to_json(self) -> dict[str, Any]:
        """Returns the column as plain JSON values; floats keep every bit."""
        return asdict(self)

    @property
    def inputs(self) -> int:
        """Number of inputs, without the indicator."""
        return len(self.input_names)

    @property
    def input_names(self) -> tuple[str, ...]:
        """What each input is, without the indicator."""
        waves = (f"{cycle}_{wave}" for cycle in self.cycles for wave in ("sin", "cos"))
        return tuple(f"{self.name}_{part}" for part in ("time", *waves))

    @property
    def details(self) -> str:
        """What was found out, for people."""
        cycles = "".join(f", {cycle}" for cycle in self.cycles)
        gaps = ", missing values have an indicator" if self.indicator else ""
        return f"{_day(self.low)} to {_day(self.high)}; time{cycles}{gaps}"

    def encode(self, values: pd.Series, out: np.ndarray) -> np.ndarray:
        """Writes the inputs to `out` [n, inputs] and returns where values are missing [n].

        Raises:
            DataError: A value is not a date.
        """
        dates = self._read(values)
        missing = np.asarray(dates.times.isna())
        if dates.codes is not None:
            missing = np.append(missing, True)[dates.codes]
        for position, column in enumerate(self._columns(dates.times)):
            column[np.isnan(column)] = 0.0
            out[:, position] = column if dates.codes is None else np.append(column, 0)[dates.codes]
        return missing

    def unfamiliar(self, values: pd.Series) -> str | None:
        """Returns a sentence if the values are mostly not like those of the train rows, or far."""
        seconds = seconds_of(self._read(values).of(None))
        present = seconds[~np.isnan(seconds)]
        if len(present) == 0:
            return f"column '{self.name}' has no values; all of them count as missing"
        outside = int(((present < self.low) | (present > self.high)).sum())
        far = np.abs(present - self.mean) > FARTHEST * self.scale
        if 2 * outside <= len(present) and not far.any():
            return None
        by_far = (
            f"; taken as {FARTHEST:,.0f} sd from the mean: {int(far.sum()):,}, such as "
            f"{_day(present[far][0])}"
            if far.any()
            else ""
        )
        return (
            f"column '{self.name}': {outside:,} of {len(present):,} dates are outside the "
            f"time that was trained on, {_day(self.low)} to {_day(self.high)}{by_far}"
        )

    def _columns(self, times: pd.DatetimeIndex) -> Iterator[np.ndarray]:
        yield bounded((seconds_of(times) - self.mean) / self.scale)
        for cycle in self.cycles:
            angle = _place(times, cycle) * (2 * np.pi / PERIODS[cycle])
            yield np.sin(angle)
            yield np.cos(angle)

    def _read(self, values: pd.Series) -> Dates:
        dates = read_dates(values, self.form, self.zone)
        if not isinstance(dates, Dates):
            form = "%Y-%m-%d" if self.form == ISO else self.form
            example = pd.Timestamp("2024-03-31").strftime(form)
            raise DataError(
                f"column '{self.name}' holds {dates!r} where a date like {example} is needed; "
                "correct the value or leave it empty"
            )
        return dates


def _place(times: pd.DatetimeIndex, cycle: str) -> np.ndarray:
    """Returns the month, weekday or hour from 0 as float64 [n], NaN for missing."""
    if cycle == "month":
        return np.asarray(times.month, dtype=np.float64) - 1.0
    if cycle == "weekday":
        return np.asarray(times.day_of_week, dtype=np.float64)
    return np.asarray(times.hour, dtype=np.float64) + np.asarray(times.minute) / 60.0


def _day(seconds: float) -> str:
    # Not by pandas' timestamps: these end, or cannot be written, in years that tables may hold.
    return str(np.datetime64(math.floor(seconds), "s").astype("datetime64[D]"))
