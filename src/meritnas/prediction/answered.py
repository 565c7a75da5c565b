"""Rows that a network has no answer for."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from meritnas.data.answers import unanswered
from meritnas.errors import DataError
from meritnas.wording import listed

_MOST = 10


def check_answered(outputs: Tensor) -> None:
    """Complains about rows without an answer.

    Raises:
        DataError: There is one.
    """
    rows = unanswered(outputs)
    if len(rows):
        raise DataError(unanswered_text(rows, len(outputs)) + "; correct or leave out these rows")


def unanswered_text(rows: np.ndarray, count: int) -> str:
    """Which rows of so many have no answer, counted from 1."""
    return (
        f"the network has no answer for {len(rows):,} of {count:,} rows, its outputs are no finite "
        f"numbers; rows counted from 1: {listed(rows + 1, most=_MOST)}"
    )
