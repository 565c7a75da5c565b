"""New images to answer for, in the shape a network was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.bundled import BUNDLED_IMAGES
from meritnas.data.files.plain_file import given_path
from meritnas.data.images.arrays import as_images
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.folder import holds_pictures, read_flat_folder
from meritnas.data.images.formats import ImageData, read_images
from meritnas.data.images.image_set import ImageSet
from meritnas.data.pictures.picture import Size, is_picture
from meritnas.data.pictures.picture_stack import stack_pictures
from meritnas.data.pictures.shape import with_channels, with_size
from meritnas.settings.reading import MAX_UNPACKED_MB


@dataclass(frozen=True)
class Pictures:
    """New images to answer for, in the shape a network was trained on.

    Attributes:
        names: The file of each picture, within its folder; "0", "1", ... where they have none.
        images: Pixels uint8 [n, h, w, c].
        labels: Class of each image [n] as the data says, named "label"; None where nothing tells.
        notes: What a user should know about how the images were read, a sentence each.
    """

    names: list[str]
    images: np.ndarray
    labels: pd.Series | None
    notes: tuple[str, ...] = ()


def read_pictures(
    data: ImageData | np.ndarray, encoder: ImageEncoder, max_unpacked_mb: int = MAX_UNPACKED_MB
) -> Pictures:
    """Reads new images, with their labels where they have some.

    Args:
        data: A picture, a folder of pictures, an array of images, or whatever `load_images`
            takes; labels are not needed.
        encoder: Says which size and channels the images are brought to.
        max_unpacked_mb: How many megabytes a file may unpack to.

    Raises:
        DataError: There are no images, or one is damaged.
    """
    size = encoder.height, encoder.width
    found = _read(data, size, max_unpacked_mb)
    images = with_channels(with_size(found.images, size), encoder.channels)
    names = list(found.names) or [str(place) for place in range(len(images))]
    return Pictures(names, images, found.labels, found.notes)


def _read(data: ImageData | np.ndarray, size: Size, max_unpacked_mb: int) -> ImageSet:
    if isinstance(data, np.ndarray):
        images, notes = as_images(data, "the array of images")
        return ImageSet(images, None, notes=notes)
    if isinstance(data, tuple) or str(data) in BUNDLED_IMAGES:
        return read_images(data, size)
    path = given_path(data)
    if path.is_file() and is_picture(path):
        images, notes = stack_pictures([path], [str(path)], size)
        return ImageSet(images, None, names=(path.name,), notes=notes)
    if path.is_dir() and _is_flat(path):
        return read_flat_folder(path, size)
    return read_images(path, size, max_unpacked_mb)


def _is_flat(folder: Path) -> bool:
    """Tells whether pictures lie in a folder itself, and in none of its sub-folders."""
    inside = (path for path in folder.iterdir() if path.is_dir())
    flat = any(is_picture(path) for path in folder.iterdir())
    return flat and not any(holds_pictures(path) for path in inside)
