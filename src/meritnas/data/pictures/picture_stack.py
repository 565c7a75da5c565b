"""Picture files as one array of images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from meritnas.data.pictures.picture import PictureFile, Size, picture_size, read_picture

MOST_PIXELS = 64
"""The longer side of pictures where no size is asked for, at most."""


def stack_pictures(
    files: Sequence[PictureFile], names: Sequence[str], size: Size | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Reads pictures into one array.

    Args:
        files: The pictures, at least one.
        names: What errors call each.
        size: Height and width; None for the most common size, scaled down to at most 64 pixels.

    Returns:
        Pixels uint8 [n, h, w, c], c = 3 if any picture has a colour, else 1; and notes.

    Raises:
        DataError: A picture is damaged.
    """
    notes: tuple[str, ...] = ()
    if size is None:
        sizes = Counter(map(picture_size, files, names))
        size = usual_size(sizes)
        notes = size_notes(sizes, size)
    images = np.empty((len(files), *size, 1), dtype=np.uint8)
    for place, (file, name) in enumerate(zip(files, names, strict=True)):
        pixels = read_picture(file, name, size)
        if images.shape[3] == 1 and has_colour(pixels):
            images = np.repeat(images, 3, axis=3)
        images[place] = pixels[..., : images.shape[3]]
    return images, notes


def has_colour(pixels: np.ndarray) -> bool:
    """Whether the channels of pixels [h, w, c] differ anywhere."""
    return bool((pixels != pixels[..., :1]).any())


def usual_size(sizes: Counter[Size]) -> Size:
    """Returns the most common size, the larger one of equals, scaled down if it is too large."""
    height, width = max(sizes, key=lambda size: (sizes[size], size[0] * size[1], size))
    scale = min(1.0, MOST_PIXELS / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def size_notes(sizes: Counter[Size], size: Size) -> tuple[str, ...]:
    """Returns a sentence about resizing, or nothing if no picture is resized."""
    if set(sizes) == {size}:
        return ()
    found = f"{len(sizes)} sizes"
    if len(sizes) == 1:
        (height, width) = next(iter(sizes))
        found = f"{height} x {width} pixels"
    chosen = "their most common size" if size in sizes else f"at most {MOST_PIXELS} pixels a side"
    return (
        f"pictures of {found} are resized to {size[0]} x {size[1]} (height x width), {chosen}; "
        "for another size: --image-size",
    )
