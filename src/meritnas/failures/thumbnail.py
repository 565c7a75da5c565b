"""A picture as a small PNG file in base64."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

_LARGEST = 96


def thumbnail(pixels: np.ndarray) -> str:
    """A picture that is no larger than some dozen pixels each way, the same bytes every time.

    Args:
        pixels: uint8 [h, w, channels] with 1 channel (grey) or 3.
    """
    grey = pixels.shape[2] != 3
    picture = Image.fromarray(np.ascontiguousarray(pixels[:, :, 0] if grey else pixels))
    picture.thumbnail((_LARGEST, _LARGEST))  # which does not enlarge
    file = io.BytesIO()
    picture.save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")
