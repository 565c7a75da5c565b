"""How good each of several labels is recognised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meritnas.failures.per_class import scores_of_each


def of_labels(names: Sequence[str], truth: np.ndarray, given: np.ndarray) -> dict[str, Any]:
    """Scores of each label, and how many rows have all of theirs right.

    Args:
        names: of the labels.
        truth: whether a row has each [n, labels].
        given: whether it is answered to have it [n, labels].
    """
    hits = (truth & given).sum(axis=0)
    return {
        "each": scores_of_each(names, hits, truth.sum(axis=0), given.sum(axis=0)),
        "all_right": round(float((truth == given).all(axis=1).mean()), 6),
    }
