"""Images as a reader found them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class ImageSet:
    """Images as a reader found them.

    Attributes:
        images: Pixels uint8 [n, h, w, c], c = 1 (grey) or 3 (colours).
        labels: Class of each image [n], named "label"; None where nothing tells.
        test: Whether the data set itself keeps an image for testing, bool [n]; None if it does
            not say.
        names: The file of each image; empty where images have none.
        notes: What a user should know about how the images were read, a sentence each.
    """

    images: np.ndarray
    labels: pd.Series | None
    test: np.ndarray | None = None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
