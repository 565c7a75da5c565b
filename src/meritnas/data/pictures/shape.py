"""Images of another size, or with other channels."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageOps

from meritnas.data.pictures.picture import Size

_LUMA = np.array([19595, 38470, 7471], dtype=np.uint32)
"""How much red, green and blue count in grey (ITU-R 601), in parts of 65536."""


def with_size(images: np.ndarray, size: Size) -> np.ndarray:
    """Returns images uint8 [n, h, w, c] of another size, scaled and cut as `read_picture` does."""
    height, width = size
    if images.shape[1:3] == (height, width):
        return images
    channels = images.shape[3]
    result = np.empty((len(images), height, width, channels), dtype=np.uint8)
    for place, image in enumerate(images):
        picture = Image.fromarray(image[..., 0] if channels == 1 else image)
        fitted = ImageOps.fit(picture, (width, height), Image.Resampling.BILINEAR)
        result[place] = np.asarray(fitted).reshape(height, width, channels)
    return result


def with_channels(images: np.ndarray, channels: int) -> np.ndarray:
    """Returns images uint8 [n, h, w, 1 or 3] as grey (1) or as colours (3)."""
    if images.shape[3] == channels:
        return images
    if channels == 3:
        return np.repeat(images, 3, axis=3)
    result = np.empty((*images.shape[:3], 1), dtype=np.uint8)
    for place, image in enumerate(images):
        result[place, ..., 0] = (image @ _LUMA + 32768) >> 16
    return result
