"""Rows by which the ranges of a network's activations are found, before they become int8."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meritnas.data.bundle import Part
from meritnas.devices.placement import on_cpu

ROWS = 1024
"""Training rows by which the range of each activation is found."""

AT_ONCE = 256


def pieces(part: Part, most: int) -> Iterator[np.ndarray]:
    """The first rows of a part as a network reads them, a few at once."""
    for start in range(0, min(most, len(part)), AT_ONCE):
        yield on_cpu(part.inputs[start : min(start + AT_ONCE, most)]).numpy()
