"""Knots of a map from numbers to about a normal distribution."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

LEAST_SPREAD = 1e-300
"""Between the smallest and the largest of the values to map."""

_FARTHEST = 4.0
_LEAST_GAP = 1e-303
"""Between knots: what is steeper has no slope in float64."""


def quantile_knots(values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Finds the piecewise-linear map under which values are about normally distributed.

    Knots are values that occur: all of them if they are few, else those at evenly spaced normal
    quantiles, so that the tails have some too. A knot's height is the normal quantile of the share
    of values below it, half of those equal to it included, so that ties sit in the middle of the
    place they take.

    Args:
        values: The numbers to map [n], without NaN, more than `LEAST_SPREAD` apart.
        most: Most knots, at least 2.

    Returns:
        Knots, strictly increasing, and their heights, strictly increasing, scaled so that the
        mapped values have mean 0 and standard deviation 1; before that they are within +-4.
    """
    ordered = np.sort(values)
    n = len(ordered)
    knots = ordered
    if n > most:
        ends = min(_FARTHEST, float(-ndtri(0.5 / n)))
        shares = ndtr(np.linspace(-ends, ends, most))
        places = np.rint(shares * (n - 1)).astype(np.int64)
        places[0], places[-1] = 0, n - 1
        knots = ordered[places]
    knots = np.unique(knots)
    knots = knots[np.append(True, np.diff(knots) > _LEAST_GAP)]
    below, upto = (np.searchsorted(ordered, knots, side) for side in ("left", "right"))
    heights = np.clip(ndtri((below + upto) / (2 * n)), -_FARTHEST, _FARTHEST)
    mapped = np.interp(ordered, knots, heights)
    return knots, (heights - mapped.mean()) / mapped.std()
