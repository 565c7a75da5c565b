"""Precision, recall and F1 of classes or labels, from counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def scores_of_each(
    names: Sequence[str], hits: np.ndarray, support: np.ndarray, given: np.ndarray
) -> list[dict[str, Any]]:
    """A row for each class; a score that nothing speaks for or against is None.

    Args:
        names: of the classes.
        hits: rows of each that are answered so [classes].
        support: rows of each [classes].
        given: rows that are answered so [classes].
    """
    return [
        {
            "name": str(name),
            "precision": _share(hit, answered),
            "recall": _share(hit, own),
            "f1": _share(2 * hit, own + answered),
            "support": int(own),
        }
        for name, hit, own, answered in zip(names, hits, support, given, strict=True)
    ]


def _share(part: int, whole: int) -> float | None:
    return round(float(part) / float(whole), 6) if whole else None
