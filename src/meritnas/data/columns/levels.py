"""The few whole values that some number columns hold: ratings, counts, grades."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

MOST_LEVELS = 16
"""Different values of a column that may be told apart one by one."""

_LOOKED_AT = 1000


def whole_levels(numbers: np.ndarray) -> tuple[float, ...]:
    """The different values of a column, ascending, where these are few and whole; else none.

    Args:
        numbers: those of the train rows, or a fair sample [n], NaN left out.
    """
    first = np.unique(numbers[:_LOOKED_AT])  # settles most columns
    if len(first) > MOST_LEVELS or not _whole(first):
        return ()
    found = np.unique(numbers)
    few = len(found) <= MOST_LEVELS and _whole(found)
    return tuple(found.tolist()) if few else ()


def thresholds_between(levels: tuple[float, ...]) -> np.ndarray:
    """The numbers half-way from each value to the next [values - 1]."""
    return np.array([(low + high) / 2 for low, high in pairwise(levels)], dtype=np.float64)


def _whole(values: np.ndarray) -> bool:
    return bool((values % 1 == 0).all())
