"""Images and their classes, before anything is learned from them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.bundled import BUNDLED_IMAGES
from meritnas.data.files.plain_file import given_path
from meritnas.data.images.formats import ImageData, is_image_data, read_images
from meritnas.data.pictures.asked_size import checked_size
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import listed

__all__ = ["ImageData", "ImageSource", "is_image_data", "load_images"]

_LEAST_IMAGES = 10


@dataclass(frozen=True)
class ImageSource:
    """Images and their classes, before anything is learned from them.

    Attributes:
        name: Short name for reports.
        images: Pixels uint8 [n, h, w, c], c = 1 (grey) or 3 (colours).
        labels: Class of each image [n], whole numbers or text, named "label".
        fingerprint: SHA-256 over pixels, labels and what is kept for testing, in hex.
        location: Absolute path of a file or folder, the name of bundled data, None for arrays.
        test: Whether the data set itself keeps an image for testing, bool [n]; None if it does
            not say.
        notes: What a user should know about how the images were read, a sentence each.
    """

    name: str
    images: np.ndarray
    labels: pd.Series
    fingerprint: str
    location: str | None
    test: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def load_images(
    data: ImageData,
    size: int | tuple[int, int] | None = None,
    max_unpacked_mb: int = MAX_UNPACKED_MB,
    *,
    skip_bad_rows: bool = False,
) -> ImageSource:
    """Loads bundled images by name, images by path, or takes a pair of arrays.

    A path is of a folder with a folder of pictures for each class (see `read_image_folder`), a
    NumPy archive (`read_image_npz`), MNIST's files (`read_idx_folder`) or CIFAR's
    (`read_cifar_folder`).

    Args:
        data: A bundled name, a path, or images (see `as_images`) and labels (`as_labels`). A
            bundled name wins over a file of that name; write ./digits for the file.
        size: Height and width, or one number for both, that all images are resized to. None for
            arrays as they are, and pictures in their most common size but at most 64 pixels.
        max_unpacked_mb: How many megabytes a file may unpack to.
        skip_bad_rows: Whether damaged files of a folder of pictures are left out.

    Raises:
        DataError: The images cannot be found or used.
        UsageError: The size is no size.
    """
    checked = None if size is None else checked_size(size)
    found = read_images(data, checked, max_unpacked_mb, skip_bad_rows=skip_bad_rows)
    name, location = _place(data)
    if found.labels is None:
        raise DataError(
            f"{location or name} has images but no labels; to learn from them each needs a class"
        )
    notes = (*found.notes, *_check_classes(location or name, found.labels, found.test))
    digest = fingerprint_images(found.images, found.labels, found.test)
    return ImageSource(name, found.images, found.labels, digest, location, found.test, notes)


def fingerprint_images(images: np.ndarray, labels: pd.Series, test: np.ndarray | None) -> str:
    """Returns the SHA-256 in hex over pixels, labels and what is kept for testing."""
    kept = None if test is None else np.flatnonzero(test).tolist()
    head = json.dumps([list(images.shape), labels.tolist(), kept])
    digest = hashlib.sha256(head.encode())
    digest.update(np.ascontiguousarray(images).data)
    return digest.hexdigest()


def _place(data: ImageData) -> tuple[str, str | None]:
    """Returns the short name and the location of images."""
    if isinstance(data, tuple):
        return "arrays", None
    if str(data) in BUNDLED_IMAGES:
        return str(data), str(data)
    path = given_path(data).resolve()
    stem = path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem
    return stem or "images", str(path)


def _check_classes(where: str, labels: pd.Series, test: np.ndarray | None) -> tuple[str, ...]:
    """Returns notes about the classes, if there are enough images of them."""
    learned = labels if test is None else labels[~test]
    if len(learned) < _LEAST_IMAGES:
        besides = "" if test is None else " besides those kept for testing"
        raise DataError(
            f"{where} has {len(learned)} images{besides}, too few to learn from; "
            f"give at least {_LEAST_IMAGES}"
        )
    if labels.nunique() < 2:
        raise DataError(
            f"all images of {where} are of the one class {labels.tolist()[0]!r}; there is nothing "
            "to learn, give at least 2 classes"
        )
    if test is None:
        return ()
    known, tested = set(learned), set(labels[test])
    if tested - known:
        raise DataError(
            f"{where} has test images of classes without train images: "
            f"{listed(sorted(tested - known, key=str))}; add train images or remove these classes"
        )
    missing = listed(sorted(known - tested, key=str))
    return (f"there are no test images of: {missing}",) if missing else ()
