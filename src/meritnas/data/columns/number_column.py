"""A column taken as numbers: standardised, or by quantiles."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns.as_numbers import typed_numbers
from meritnas.data.columns.bound import FARTHEST
from meritnas.data.columns.cells import check_finite, no_number, numbers_of
from meritnas.data.columns.distinct import find_distinct
from meritnas.data.columns.far_values import FarValues
from meritnas.data.columns.levels import thresholds_between, whole_levels
from meritnas.data.columns.measured import Written
from meritnas.data.columns.moments import Moments
from meritnas.data.columns.quantiles import LEAST_SPREAD, quantile_knots
from meritnas.data.columns.row_inputs import number_inputs, standardised
from meritnas.data.columns.unread import unread_details, unread_warning


@dataclass(frozen=True)
class NumberColumn:
    """A column taken as a number, missing values at 0.

    Without knots it is standardised, up to `FARTHEST`; with knots it is mapped to about a normal
    distribution, by linear interpolation between them and flat beyond them.

    Attributes:
        name: Name in the table.
        mean: Mean over the train rows.
        scale: Standard deviation over the train rows.
        indicator: Whether an input of its own tells that the value is missing.
        low: Smallest value of the train rows; None in runs of older versions.
        high: Largest value of the train rows; None in runs of older versions.
        knots: Increasing values, or none.
        heights: What each knot is mapped to.
        far: Numbers that count as missing, as fill values do; None where there are none.
        written: How they are written where they are text with a unit, or some cells are none; None
            for plain numbers.
        levels: Its different values in the train rows, ascending, where they are few and whole;
            none else, and in runs of older versions.
    """

    name: str
    mean: float
    scale: float
    indicator: bool
    low: float | None = None
    high: float | None = None
    knots: tuple[float, ...] = ()
    heights: tuple[float, ...] = ()
    far: FarValues | None = None
    written: Written | None = None
    levels: tuple[float, ...] = ()

    @classmethod
    def fit(
        cls,
        name: str,
        numbers: np.ndarray,
        most_knots: int = 0,
        far: FarValues | None = None,
        written: Written | None = None,
    ) -> NumberColumn | str:
        """Looks at the numbers of the train rows, NaN for missing, none infinite.

        Args:
            name: Name in the table.
            numbers: The train rows [n].
            most_knots: Most knots of the quantile map; 0 to standardise. Where there are only two
                different values they are standardised anyway: a map could do nothing else.
            far: Which numbers count as missing.
            written: How they are written; None for plain numbers.

        Returns:
            The column, or why it is left out.
        """
        missing = np.isnan(numbers)
        if far is not None:
            missing |= far.are(numbers)
        indicator = bool(missing.any())
        present = numbers[~missing] if indicator else numbers
        seen = Moments.of(present)
        return cls.of_moments(name, seen, indicator, present, most_knots, far, written)

    @classmethod
    def of_moments(
        cls,
        name: str,
        seen: Moments,
        indicator: bool,
        some: np.ndarray,
        most_knots: int = 0,
        far: FarValues | None = None,
        written: Written | None = None,
    ) -> NumberColumn | str:
        """Decides by what was seen of the train rows; see `fit`.

        Args:
            name: Name in the table.
            seen: Numbers that are not missing.
            indicator: Whether any is missing.
            some: All of these numbers, or a fair sample with the smallest and the largest.
            most_knots: As in `fit`.
            far: As in `fit`.
            written: As in `fit`.
        """
        if not seen.count:
            return "all values are missing" + (f", or {far.limit:g} and more" if far else "")
        low, high = seen.low, seen.high
        if low == high and not indicator:
            return f"constant, {low:g} in every row"
        knots: list[float] = []
        heights: list[float] = []
        wide = most_knots and high - low > LEAST_SPREAD
        if wide and not ((some == low) | (some == high)).all():
            knots, heights = (found.tolist() for found in quantile_knots(some, most_knots))
        # One value besides missing ones, or differences too small for a square, leave no scale.
        scale = seen.deviation
        map_ = tuple(knots), tuple(heights)
        levels = whole_levels(some)
        return cls(name, seen.mean, scale, indicator, low, high, *map_, far, written, levels)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> NumberColumn:
        """Returns the column that `to_json` gave, also of older versions."""
        lists = {key: tuple(value.get(key, ())) for key in ("knots", "heights", "levels")}
        far, written = FarValues.from_json(value.get("far")), value.get("written")
        return cls(**{**value, **lists, "far": far, "written": Written.from_json(written)})

    def to_json(self) -> dict[str, Any]:
        """Returns the column as plain JSON values; floats keep every bit."""
        return asdict(self)

    @property
    def two_valued(self) -> bool:
        """Whether the train rows have one value or two, which no scaling can set apart."""
        if self.low is None or self.high is None:
            return False
        # Variance is at most this product, and only where all values are at the two ends.
        most = (self.mean - self.low) * (self.high - self.mean)
        return self.low == self.high or math.isclose(self.scale**2, most, rel_tol=1e-9)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """What lies between its levels, as these are encoded; none where it has no levels."""
        between = thresholds_between(self.levels)
        found, _ = number_inputs(between, self.mean, self.scale, self.knots, self.heights)
        return tuple(found.tolist())

    @property
    def details(self) -> str:
        """What was found out, for people."""
        scaling = "quantile scaling" if self.knots else "standardised"
        gaps = ", missing values have an indicator" if self.indicator else ""
        far = (
            f", {self.far.count:,} from {self.far.limit:g} on count as missing" if self.far else ""
        )
        written = self.written or Written()
        unit = f"in {written.unit}, " if written.unit else ""
        lost = unread_details(written.unread, written.example)
        return f"{unit}mean {self.mean:.3g}, sd {self.scale:.3g}, {scaling}{gaps}{far}{lost}"

    @property
    def warnings(self) -> list[str]:
        """Sentences about cells that are no numbers, and numbers that count as missing."""
        written = self.written or Written()
        lost = unread_warning(self.name, written.unread, written.example, "number")
        return [text for text in (lost, self._far_warning) if text]

    @property
    def _far_warning(self) -> str | None:
        if self.far is None:
            return None
        one = self.far.count == 1
        values = "1 value" if one else f"{self.far.count:,} values"
        return (
            f"column '{self.name}': {values} from {self.far.limit:g} on, such as "
            f"{self.far.example:g}, {'counts' if one else 'count'} as missing; the others are at "
            f"most {self.far.others:g}"
        )

    def encode(self, values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Returns float32 [n] with missing values at 0, and where these are [n].

        Raises:
            DataError: A value is not a number, or is infinite.
        """
        numbers, _ = self._read(values)
        check_finite(numbers, self.name)
        limit = None if self.far is None else self.far.limit
        return number_inputs(numbers, self.mean, self.scale, self.knots, self.heights, limit)

    def unfamiliar(self, values: pd.Series) -> str | None:
        """Returns a sentence if the values are mostly not like those of the train rows, or far."""
        numbers, strange = self._read(values)
        present = numbers[~np.isnan(numbers)]
        if len(present) == 0:
            return f"column '{self.name}' has no values; all of them count as missing"
        missing = np.zeros(len(present), bool) if self.far is None else self.far.are(present)
        beyond = (np.abs(standardised(present, self.mean, self.scale)) > FARTHEST) & ~missing
        outside, trained = missing | beyond, "what was trained on"
        by_far = bool(outside.any())
        if self.low is not None and self.high is not None:
            outside = (present < self.low) | (present > self.high)
            trained = f"the range that was trained on, {self.low:g} to {self.high:g}"
        count = int(outside.sum())
        if 2 * count <= len(present) and not by_far:
            lost = int((np.isnan(numbers) & values.notna().to_numpy()).sum()) if strange else 0
            return unread_warning(self.name, lost, str([*strange, ""][0]), "number")
        end = "the nearer end of it" if self.knots else f"{FARTHEST:,.0f} sd from the mean"
        fates = ((missing, "missing"), (beyond, end))
        taken = "".join(
            f"; taken as {fate}: {int(few.sum()):,}, such as {present[few][0]:g}"
            for few, fate in fates
            if few.any()
        )
        return (
            f"column '{self.name}': {count:,} of {len(present):,} values are outside {trained}"
            f"{taken}"
        )

    def _read(self, values: pd.Series) -> tuple[np.ndarray, list[object]]:
        """The numbers, NaN for missing, and the different values that are none but may be there."""
        typed = typed_numbers(values)
        if typed is not None:
            return typed, []
        distinct = find_distinct(values)
        if self.written is None:
            truths = (self.low, self.high) == (0.0, 1.0)
            found = numbers_of(distinct.values, self.name, truths=truths)
            return distinct.spread(found, np.nan), []
        numbers, others = self.written.read(distinct)
        if others and not self.written.unread:
            raise no_number(self.name, others[0], self.written.unit)
        return numbers, others
