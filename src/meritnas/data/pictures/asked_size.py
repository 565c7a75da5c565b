"""The size of pictures that a user asks for; settings need it, so it imports no arrays."""

from __future__ import annotations

from meritnas.errors import whole_number
from meritnas.settings.augment import MOST_PIXELS

_LEAST_SIDE = 4


def checked_size(size: int | tuple[int, int]) -> tuple[int, int]:
    """Returns height and width that were asked for; one number is both.

    Raises:
        UsageError: A side is no whole number, below 4 or above 1,024.
    """
    height, width = size if isinstance(size, tuple) else (size, size)
    return (
        whole_number("image_size", height, _LEAST_SIDE, MOST_PIXELS),
        whole_number("image_size", width, _LEAST_SIDE, MOST_PIXELS),
    )
