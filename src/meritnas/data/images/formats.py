"""Images of any format, told apart by their looks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from meritnas.data.bundled import BUNDLED, BUNDLED_IMAGES, load_bundled_images
from meritnas.data.files.plain_file import given_path
from meritnas.data.images.arrays import as_images
from meritnas.data.images.cifar_files import (
    has_cifar_files,
    is_cifar_file,
    read_cifar_file,
    read_cifar_folder,
)
from meritnas.data.images.folder import expected_layout, holds_pictures, read_image_folder
from meritnas.data.images.idx_files import (
    has_idx_files,
    is_idx_file,
    read_idx_folder,
    read_idx_images,
)
from meritnas.data.images.image_set import ImageSet
from meritnas.data.images.labels import as_labels
from meritnas.data.images.npz import read_image_npz
from meritnas.data.pictures.picture import Size, is_picture
from meritnas.data.pictures.shape import with_size
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import did_you_mean

ImageData: TypeAlias = str | Path | tuple[np.ndarray, np.ndarray]
"""A bundled name, a path, or images with their labels."""

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")


def is_image_data(data: Any) -> bool:
    """Tells whether data are images rather than a table, without reading them.

    True for a name that only bundled images have, for a pair whose first array has three or four
    axes, for a folder with pictures (which `load_images` may yet find to be laid out wrongly) or
    with the files of MNIST or CIFAR, and by its name for a file of images. Archives count, so
    that the error for them says what to do.
    """
    if isinstance(data, tuple):
        return len(data) == 2 and np.ndim(data[0]) in (3, 4)
    if not isinstance(data, str | Path) or str(data) in BUNDLED:
        return False
    if str(data) in BUNDLED_IMAGES:
        return True
    path = given_path(data)
    if path.is_dir():
        return has_idx_files(path) or has_cifar_files(path) or holds_pictures(path)
    known = path.name.lower().endswith((".npz", *_ARCHIVES))
    return known or is_idx_file(path) or is_cifar_file(path) or is_picture(path)


def read_images(
    data: ImageData,
    size: Size | None,
    max_unpacked_mb: int = MAX_UNPACKED_MB,
    *,
    skip_bad_rows: bool = False,
) -> ImageSet:
    """Reads images of any format, with labels where there are any.

    Args:
        data: What holds the images. A bundled name wins over a file of that name.
        size: Height and width of the images; None as each reader says.
        max_unpacked_mb: How many megabytes a file may unpack to.
        skip_bad_rows: Whether damaged files of a folder of pictures are left out.

    Raises:
        DataError: There are no images, or they cannot be read.
    """
    if isinstance(data, tuple):
        found = _read_pair(*data)
    elif str(data) in BUNDLED_IMAGES:
        images, digits = load_bundled_images(str(data))
        found = ImageSet(images, as_labels(digits, len(images), str(data)))
    else:
        found = _read_path(given_path(data), size, max_unpacked_mb, skip_bad_rows)
    return found if size is None else replace(found, images=with_size(found.images, size))


def _read_pair(images: np.ndarray, labels: np.ndarray) -> ImageSet:
    pixels, notes = as_images(images, "the array of images")
    named = as_labels(labels, len(pixels), "the array of labels")
    # A copy: later changes to the array must not reach the images.
    return ImageSet(pixels.copy(), named, notes=notes)


def _read_path(
    path: Path, size: Size | None, max_unpacked_mb: int, skip_bad_rows: bool
) -> ImageSet:
    if not path.exists():
        raise DataError(
            f"no file or folder {path} and no bundled images of this name;"
            f"{did_you_mean(str(path), BUNDLED_IMAGES)} bundled: {', '.join(BUNDLED_IMAGES)}"
        )
    if path.is_dir():
        return _read_folder(path, size, max_unpacked_mb, skip_bad_rows)
    name = path.name.lower()
    if name.endswith(".npz"):
        return read_image_npz(path, size, max_unpacked_mb)
    if is_idx_file(path):
        return read_idx_images(path, max_unpacked_mb)
    if is_cifar_file(path):
        return read_cifar_file(path)
    if name.endswith(_ARCHIVES):
        raise DataError(f"{path} is an archive; unpack it and name the folder with its files")
    if is_picture(path):
        raise DataError(f"{path} is one picture; {expected_layout()}, and name the folder data")
    raise DataError(
        f"cannot tell the format of {path} by its name; images are a folder of pictures, .npz, "
        "MNIST's idx files (train-images-idx3-ubyte) or CIFAR's batches (data_batch_1.bin)"
    )


def _read_folder(
    folder: Path, size: Size | None, max_unpacked_mb: int, skip_bad_rows: bool
) -> ImageSet:
    if has_idx_files(folder):
        return read_idx_folder(folder, max_unpacked_mb)
    if has_cifar_files(folder):
        return read_cifar_folder(folder)
    # Archives often unpack into a folder in a folder.
    inside = [path for path in folder.iterdir() if path.is_dir()]
    if len(inside) == 1 and (has_idx_files(inside[0]) or has_cifar_files(inside[0])):
        raise DataError(f"{folder} holds no images itself; name the folder in it: {inside[0]}")
    return read_image_folder(folder, size, skip_bad_rows=skip_bad_rows)
