"""One order of what several witnesses say: the weighted sum of ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks [n] of values [n]: 1 for the largest, the mean of their places for equal ones.

    What is NaN comes last, together with minus infinity.
    """
    found: np.ndarray = rankdata(-np.where(np.isnan(values), -np.inf, values), method="average")
    return found


def rank_sums(said: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """Weighted sums of ranks [n]; the smallest is who the witnesses agree on best.

    Witnesses measure in units of their own, which only ranks make comparable (a Borda count).

    Args:
        said: by the name of a witness, its values [n].
        weights: by the same names.
    """
    return np.sum([weights[name] * ranks(values) for name, values in said.items()], axis=0)


def order(said: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """Positions [n], best first; those with equal sums as they were."""
    return np.argsort(rank_sums(said, weights), kind="stable")
