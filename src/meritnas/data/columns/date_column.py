"""A column taken as dates: time, and the place in month, week and day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns.as_dates import Dates, read_dates, seconds_of, wall_times
from meritnas.data.columns.bound import FARTHEST
from meritnas.data.columns.date_texts import no_date
from meritnas.data.columns.moments import Moments
from meritnas.data.columns.row_inputs import PERIODS, date_inputs, place_in_cycle
from meritnas.data.columns.unread import unread_details, unread_warning


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
        unread: How many cells of the table are no dates; they count as missing, and so do those of
            new files. Where there are none, new ones are an error.
        example: One of them.
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
    unread: int = 0
    example: str = ""

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
        wall = wall_times(times)
        cycles = [cycle for cycle in PERIODS if len(np.unique(place_in_cycle(wall, cycle))) > 1]
        seen = Moments.of(seconds_of(times))
        unread = dates.unread, dates.example
        return cls.of_moments(name, dates.form, dates.zone, seen, indicator, cycles, unread)

    @classmethod
    def of_moments(
        cls,
        name: str,
        form: str,
        zone: str | None,
        seen: Moments,
        indicator: bool,
        cycles: Sequence[str],
        unread: tuple[int, str] = (0, ""),
    ) -> DateColumn | str:
        """Decides by what was seen of the train rows; see `fit`.

        Args:
            name: Name in the table.
            form: How text is read.
            zone: Time zone.
            seen: Seconds since 1970.
            indicator: Whether any date is missing.
            cycles: Those that vary.
            unread: How many cells are no dates, and one of them.
        """
        if not seen.count:
            return "all values are missing"
        if seen.low == seen.high and not indicator:
            return f"constant, {_day(seen.low)} in every row"
        return cls(
            *(name, form, zone, seen.mean, seen.deviation),
            *(seen.low, seen.high, tuple(cycles), indicator),
            unread=unread[0],
            example=unread[1],
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
        lost = unread_details(self.unread, self.example)
        return f"{_day(self.low)} to {_day(self.high)}; time{cycles}{gaps}{lost}"

    @property
    def warning(self) -> str | None:
        """A sentence about cells that are no dates, if there are any."""
        return unread_warning(self.name, self.unread, self.example, "date")

    def encode(self, values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Returns the inputs, float32 [n, inputs], and where values are missing [n].

        Raises:
            DataError: A value is not a date.
        """
        dates = self._read(values)
        times = wall_times(dates.times)
        inputs = date_inputs(times, self.mean, self.scale, self.cycles)
        missing = np.isnat(times)
        if dates.codes is None:
            return inputs, missing
        inputs = np.append(inputs, np.zeros_like(inputs, shape=(1, self.inputs)), axis=0)
        return inputs[dates.codes], np.append(missing, True)[dates.codes]

    def unfamiliar(self, values: pd.Series) -> str | None:
        """Returns a sentence if the values are mostly not like those of the train rows, or far."""
        read = self._read(values)
        seconds = seconds_of(read.of(None))
        present = seconds[~np.isnan(seconds)]
        if len(present) == 0:
            return f"column '{self.name}' has no values; all of them count as missing"
        outside = int(((present < self.low) | (present > self.high)).sum())
        far = np.abs(present - self.mean) > FARTHEST * self.scale
        if 2 * outside <= len(present) and not far.any():
            return unread_warning(self.name, read.unread, read.example, "date")
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

    def _read(self, values: pd.Series) -> Dates:
        dates = read_dates(values, self.form, self.zone, lenient=self.unread > 0)
        if not isinstance(dates, Dates):
            raise no_date(self.name, dates, self.form)
        return dates


def _day(seconds: float) -> str:
    # Not by pandas' timestamps: these end, or cannot be written, in years that tables may hold.
    return str(np.datetime64(math.floor(seconds), "s").astype("datetime64[D]"))
