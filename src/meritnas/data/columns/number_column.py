"""A column taken as numbers: standardised, or by quantiles."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns.as_numbers import as_numbers, as_truths, check_finite
from meritnas.data.columns.quantiles import quantile_knots
from meritnas.errors import DataError


@dataclass(frozen=True)
class NumberColumn:
    """A column taken as a number, missing values at 0.

    Without knots it is standardised; with knots it is mapped to about a normal distribution, by
    linear interpolation between them and flat beyond them.

    Attributes:
        name: Name in the table.
        mean: Mean over the train rows.
        scale: Standard deviation over the train rows.
        indicator: Whether an input of its own tells that the value is missing.
        low: Smallest value of the train rows; None in runs of older versions.
        high: Largest value of the train rows; None in runs of older versions.
        knots: Increasing values, or none.
        heights: What each knot is mapped to.
    """

    name: str
    mean: float
    scale: float
    indicator: bool
    low: float | None = None
    high: float | None = None
    knots: tuple[float, ...] = ()
    heights: tuple[float, ...] = ()

    @classmethod
    def fit(cls, name: str, numbers: np.ndarray, most_knots: int = 0) -> NumberColumn | str:
        """Looks at the numbers of the train rows, NaN for missing.

        Args:
            name: Name in the table.
            numbers: The train rows [n].
            most_knots: Most knots of the quantile map; 0 to standardise. Where there are only two
                different values they are standardised anyway: a map could do nothing else.

        Returns:
            The column, or why it is left out.

        Raises:
            DataError: There are infinite values or values too large to standardise.
        """
        missing = np.isnan(numbers)
        indicator = bool(missing.any())
        present = numbers[~missing] if indicator else numbers
        if len(present) == 0:
            return "all values are missing"
        check_finite(present, name)
        low, high = float(present.min()), float(present.max())
        if low == high and not indicator:
            return f"constant, {low:g} in every row"
        scale = float(present.std())
        # One value besides missing ones, or differences too small for a square, leave no scale.
        scale = scale if scale > 0 else 1.0
        knots: list[float] = []
        heights: list[float] = []
        if most_knots and not ((present == low) | (present == high)).all():
            knots, heights = (found.tolist() for found in quantile_knots(present, most_knots))
        mean = float(present.mean())
        return cls(name, mean, scale, indicator, low, high, tuple(knots), tuple(heights))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> NumberColumn:
        """Returns the column that `to_json` gave, also of older versions."""
        lists = {key: tuple(value.get(key, ())) for key in ("knots", "heights")}
        return cls(**{**value, **lists})

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
    def details(self) -> str:
        """What was found out, for people."""
        scaling = "quantile scaling" if self.knots else "standardised"
        gaps = ", missing values have an indicator" if self.indicator else ""
        return f"mean {self.mean:.3g}, sd {self.scale:.3g}, {scaling}{gaps}"

    def encode(self, values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Returns float32 [n] with missing values at 0, and where these are [n].

        Raises:
            DataError: A value is not a number, or is infinite.
        """
        numbers = self._read(values)
        missing = np.isnan(numbers)
        if self.knots:
            check_finite(numbers[~missing], self.name)
            scaled = np.interp(numbers, self.knots, self.heights)
            scaled[missing] = 0.0
        else:
            with np.errstate(over="ignore"):  # what overflows is told as an error below
                scaled = (numbers - self.mean) / self.scale
            scaled[missing] = 0.0
            check_finite(scaled, self.name)
        return scaled.astype(np.float32), missing

    def unfamiliar(self, values: pd.Series) -> str | None:
        """Returns a sentence if the values are mostly not like those of the train rows."""
        numbers = self._read(values)
        present = numbers[~np.isnan(numbers)]
        if len(present) == 0:
            return f"column '{self.name}' has no values; all of them count as missing"
        if self.low is None or self.high is None:
            return None
        outside = int(((present < self.low) | (present > self.high)).sum())
        if 2 * outside <= len(present):
            return None
        return (
            f"column '{self.name}': {outside:,} of {len(present):,} values are outside the "
            f"range that was trained on, {self.low:g} to {self.high:g}"
        )

    def _read(self, values: pd.Series) -> np.ndarray:
        numbers, strange = as_numbers(values)
        if numbers is None and (self.low, self.high) == (0.0, 1.0):
            numbers = as_truths(values)  # what one file calls 1, another calls true
        if numbers is None:
            raise DataError(
                f"column '{self.name}' holds {strange!r} where a number is needed; "
                "correct the value or leave it empty"
            )
        return numbers
