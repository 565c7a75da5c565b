"""Encoded rows of a table as numbers from 0 to 1; needs numpy only, so that it may leave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def write_unit_columns(
    out: np.ndarray,
    rows: np.ndarray,
    low: Sequence[float],
    high: Sequence[float],
    cardinalities: Sequence[int],
) -> None:
    """Writes the rows of a table's encoder into `out` [n, width].

    First the numbers, scaled by the smallest and largest of the train rows, then for each category
    column a 1 at the place of its code.

    Args:
        out: What is written to.
        rows: As the table's encoder gives them [n, numbers and codes].
        low: The smallest of each number in the train rows.
        high: The largest.
        cardinalities: How many codes each category column has.
    """
    numbers, least, span = len(low), np.array(low), np.array(high) - np.array(low)
    scale = np.divide(1.0, span, out=np.zeros_like(span), where=span > 0)
    out[:, :numbers] = np.clip((rows[:, :numbers] - least) * scale, 0.0, 1.0)
    start = numbers
    for codes, places in zip(rows[:, numbers:].T, cardinalities, strict=True):
        out[:, start : start + places] = codes[:, None] == np.arange(places)
        start += places
