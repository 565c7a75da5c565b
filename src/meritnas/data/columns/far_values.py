"""Numbers that measure nothing: fill values and slips, far beyond all others of a column."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

LEAST_FAR = 1e15
"""What is smaller may always be a value; up to about here float64 tells all whole numbers apart."""
_GAP = 1e6
"""Far values are so many times as large as all others."""
_FEW = 3
_FEW_SHARE = 0.01
"""Fill values are one or a few, again and again; slips are rare."""
LARGEST = 1e100
"""Nothing measured or counted is larger, and sums of squares below it are still numbers."""


@dataclass(frozen=True)
class FarValues:
    """What of a column's numbers is so far from all others that it counts as missing.

    Attributes:
        limit: Numbers of this magnitude, or a larger one, count as missing.
        count: How many of the table's numbers do.
        example: The one of them that is farthest from zero.
        others: The largest magnitude of the other numbers.
    """

    limit: float
    count: int
    example: float
    others: float

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> FarValues | None:
        """Returns what `to_json` gave; None for none."""
        return None if value is None else cls(**value)

    def to_json(self) -> dict[str, Any]:
        """Returns plain JSON values; floats keep every bit."""
        return asdict(self)

    def are(self, numbers: np.ndarray) -> np.ndarray:
        """Tells of each number whether it counts as missing; NaN does not."""
        return np.abs(numbers) >= self.limit


def any_is_huge(numbers: np.ndarray) -> bool:
    """Whether any number of an array may be far: two passes without a temporary array."""
    if not numbers.size:
        return False
    ends = np.fmin.reduce(numbers, axis=None), np.fmax.reduce(numbers, axis=None)
    return bool(float(ends[0]) <= -LEAST_FAR or float(ends[1]) >= LEAST_FAR)


def find_far_values(numbers: np.ndarray) -> FarValues | None:
    """Looks for numbers that measure nothing, such as 1e30 and 9.97e36 for missing values.

    They are at least 1e15, and 1e6 times as large as all others, either sign; and they are at most
    three different ones, or one in a hundred, and fewer than the others. So a column of huge
    numbers stays as it is. Numbers from 1e100 on are always far.

    Args:
        numbers: All of a column [n], NaN for missing; infinite ones do not count.

    Returns:
        What was found; None where nothing is far.
    """
    if not any_is_huge(numbers):
        return None
    given = numbers[np.isfinite(numbers)]
    magnitudes = np.abs(given)
    limit = min(LARGEST, far_limit(np.unique(magnitudes), len(magnitudes)))
    far = magnitudes >= limit
    if not far.any():
        return None
    return FarValues(
        limit,
        int(far.sum()),
        float(given[magnitudes.argmax()]),
        float(magnitudes[~far].max(initial=0.0)),
    )


def far_limit(different: np.ndarray, count: int) -> float:
    """From where on numbers are few and far; infinite where they are not.

    Args:
        different: The different magnitudes, sorted.
        count: How many numbers there are.
    """
    few = max(_FEW, _FEW_SHARE * count)
    nearer, farther = different[:-1], different[1:]
    limits = np.maximum(LEAST_FAR, _GAP * np.minimum(nearer, LARGEST))
    left = np.arange(len(nearer), 0, -1)  # different ones from each of the farther on
    far = (farther >= limits) & (left <= few) & (left < len(different) - left)
    return float(limits[far.argmax()]) if far.any() else np.inf
