"""How far scaled numbers go: one bound for training, prediction and exported graphs."""

from __future__ import annotations

import numpy as np

FARTHEST = 1e4
"""Of standardised numbers, either way.

A value of n training rows is at most sqrt(n - 1) standard deviations from their mean, so that the
bound changes nothing below a hundred million rows. Beyond it a network has seen nothing that would
tell one value from another, and it leaves 34 orders of magnitude to where float32 ends.
"""


def bounded(scaled: np.ndarray) -> np.ndarray:
    """Standardised numbers, none beyond the bound; NaN stays."""
    return np.clip(scaled, -FARTHEST, FARTHEST)
