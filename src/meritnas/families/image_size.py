"""The shape of images that networks of cells can work on."""

from __future__ import annotations

from collections.abc import Sequence

from meritnas.errors import SpaceError

ImageShape = tuple[int, int, int]
"""(channels, height, width)."""

_SMALLEST = 4


def check_image(image: Sequence[int]) -> ImageShape:
    """The shape of an image that cells can work on."""
    if len(image) != 3 or image[0] < 1 or min(image[1:]) < _SMALLEST:
        raise SpaceError(
            f"image must be (channels, height, width) with at least 1 channel and {_SMALLEST} by "
            f"{_SMALLEST} pixels, got {tuple(image)}"
        )
    return int(image[0]), int(image[1]), int(image[2])
