"""How far numbers are off: predicted against true, and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

_POINTS = 500
_BINS = 31
_LEVELS = (0.5, 0.9, 0.99)


def of_numbers(truth: np.ndarray, said: np.ndarray) -> dict[str, Any]:
    """Pairs of true and predicted numbers, counted residuals, and how large these are.

    Args:
        truth: on the target's own scale [n].
        said: what is predicted [n].

    Returns:
        points, at most some hundred [(true, predicted)], drawn fairly; the histogram's edges and
        counts; the mean residual and its quantiles by size; what the target itself spans.
    """
    off = said - truth
    rng = np.random.default_rng(0)
    count = min(len(off), _POINTS)
    some = np.sort(rng.choice(len(off), count, replace=False))
    reach = float(np.abs(off).max()) or 1.0
    counts, edges = np.histogram(off, bins=_BINS, range=(-reach, reach))
    sizes = np.quantile(np.abs(off), _LEVELS)
    return {
        "points": [[_short(truth[k]), _short(said[k])] for k in some],
        "edges": [_short(edge) for edge in edges],
        "counts": counts.tolist(),
        "bias": _short(off.mean()),
        "within": [[level, _short(size)] for level, size in zip(_LEVELS, sizes, strict=True)],
        "reach": [_short(truth.min()), _short(truth.max())],
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")
