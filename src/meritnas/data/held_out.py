"""Which rows of the test part are looked at one by one."""

from __future__ import annotations

import numpy as np

MOST_ROWS = 20_000
"""Beyond these they are drawn fairly, the same ones every time."""


def looked_at(rows: int) -> np.ndarray:
    """Positions in a test part of so many rows, int64 in their order."""
    if rows <= MOST_ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
