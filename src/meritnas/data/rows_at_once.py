"""How much data a network is given at a time."""

from __future__ import annotations

import math

from torch import Tensor

_ROWS_AT_ONCE = 8192
_IMAGE_NUMBERS_AT_ONCE = 400_000
_LEAST_IMAGES_AT_ONCE = 64
"""A network holds some dozen times the numbers of the images themselves while it looks at them."""

_PIECES_AT_ONCE = 64
"""Of a text: some thousand scores for each of its words."""


def rows_at_once(inputs: Tensor) -> int:
    """How many rows of a table, images or pieces of a text a network is given at a time."""
    if not inputs.is_floating_point():
        return _PIECES_AT_ONCE
    if inputs.ndim < 3:
        return _ROWS_AT_ONCE
    numbers = max(1, math.prod(inputs.shape[1:]))
    images = max(_LEAST_IMAGES_AT_ONCE, _IMAGE_NUMBERS_AT_ONCE // numbers)
    return min(_ROWS_AT_ONCE, images)
