"""Images in NumPy archives, by the names people give their arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.files.archive import opened_archive
from meritnas.data.images.arrays import as_images
from meritnas.data.images.image_set import ImageSet
from meritnas.data.images.labels import LABEL, as_labels
from meritnas.data.images.official_parts import PART_NAMES, official_test
from meritnas.data.pictures.picture import Size
from meritnas.data.pictures.picture_stack import stack_pictures
from meritnas.data.pictures.shape import with_size
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import listed

_TYPES = "uint8, int64, U"
_IMAGES = ("images", "image", "x", "data")
_BYTES = ("jpegbytes", "pngbytes", "imagebytes", "bytes")
_OFFSETS = ("offsets",)
_LABELS = ("labels", "label", "y", "targets", "target")
_CLASSES = ("classes", "classnames", "labelnames")
_EXPECTED = (
    "images and labels, x and y, data and target, these for x_train, x_test or train_images, "
    "test_images, or train_jpeg_bytes with train_offsets and train_labels"
)


@dataclass(frozen=True)
class _Part:
    """Which arrays of a file hold a part of its images.

    Attributes:
        part: "train", "valid" or "test"; "train" where the data comes in one part.
        images: Name of the array of images, or of their bytes.
        offsets: Name of the array that says where each image's bytes begin; None for no bytes.
        labels: Name of the array of labels, None for no labels.
    """

    part: str
    images: str
    offsets: str | None
    labels: str | None


def read_image_npz(
    path: Path, size: Size | None, max_unpacked_mb: int = MAX_UNPACKED_MB
) -> ImageSet:
    """Reads images and labels from a NumPy archive, never by unpickling.

    Its arrays are named as people do (see the error for an archive without such names; capitals
    and underscores do not matter): images as `as_images` takes them, or as the bytes of PNG or
    JPEG files, where image i is in `bytes[offsets[i]:offsets[i + 1]]`. Names of the classes may
    be in `classes`.

    Args:
        path: The file.
        size: Height and width of the images; None to leave arrays as they are, and for bytes as
            `stack_pictures` says.
        max_unpacked_mb: How many megabytes the file may unpack to.

    Raises:
        DataError: The file is damaged, has no such arrays, or unpacks to too much.
    """
    with opened_archive(path, _TYPES, max_unpacked_mb) as archive:
        arrays = {_plain(name): name for name in archive.names}
        parts = list(_find_parts(arrays))
        if not parts:
            raise DataError(
                f"{path} has no images under a known name; there is: "
                f"{listed(archive.names) or 'nothing'}; expected: {_EXPECTED}"
            )

        def array(name: str) -> np.ndarray:
            return np.atleast_1d(archive.array(name))

        images, notes, counts = _read_images(path, parts, array, size)
        named = _first(arrays, _CLASSES)
        classes = None if named is None else array(named).reshape(-1).astype(str).tolist()
        labels = _read_labels(path, parts, counts, array, classes)
    test, joined = official_test([part.part for part in parts], counts)
    return ImageSet(images, labels, test, notes=(*notes, *joined))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _first(arrays: dict[str, str], names: Iterable[str]) -> str | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _find_parts(arrays: dict[str, str]) -> Iterator[_Part]:
    """Yields the parts of images among arrays, given by plain and by their own name."""
    for part, spellings in PART_NAMES.items():
        for spelling in spellings:
            found = _find_part(arrays, part, spelling)
            if found:
                yield found
                break
        else:
            whole = _find_part(arrays, part, "")
            if part == "train" and whole:
                yield whole


def _find_part(arrays: dict[str, str], part: str, spelling: str) -> _Part | None:
    def first(names: tuple[str, ...]) -> str | None:
        return _first(
            arrays, (both for name in names for both in (name + spelling, spelling + name))
        )

    images, offsets = first(_IMAGES), None
    if images is None:
        images, offsets = first(_BYTES), first(_OFFSETS)
        if images is None or offsets is None:
            return None
    return _Part(part, images, offsets, first(_LABELS))


def _read_images(
    path: Path, parts: list[_Part], array: Callable[[str], np.ndarray], size: Size | None
) -> tuple[np.ndarray, tuple[str, ...], list[int]]:
    """Returns the images of all parts, notes, and how many images each part has."""
    if all(part.offsets is not None for part in parts):
        files = [_pieces(path, part, array) for part in parts]
        every = [file for of_part in files for file in of_part]
        names = [
            f"image {place} of '{part.images}' in {path}"
            for part, of_part in zip(parts, files, strict=True)
            for place in range(len(of_part))
        ]
        images, notes = stack_pictures(every, names, size)
        return images, notes, [len(of_part) for of_part in files]
    arrays = [array(part.images) for part in parts]
    shapes = {tuple(found.shape[1:]) for found in arrays}
    if len(shapes) > 1:
        told = (f"'{p.images}' {list(a.shape)}" for p, a in zip(parts, arrays, strict=True))
        raise DataError(f"images in {path} have different shapes: {listed(told)}; make them alike")
    where = " and ".join(f"'{part.images}'" for part in parts) + f" of {path.name}"
    together = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    images, notes = as_images(together, where)
    return with_size(images, size or images.shape[1:3]), notes, [len(found) for found in arrays]


def _pieces(path: Path, part: _Part, array: Callable[[str], np.ndarray]) -> list[bytes]:
    """Returns the bytes of each picture of a part."""
    assert part.offsets is not None
    content, offsets = array(part.images), array(part.offsets)
    flat = content.ndim == 1 and content.dtype == np.uint8
    fits = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) > 1
    bounds = offsets.astype(np.int64) if fits else np.array([1, 0])
    if not flat or bounds[0] < 0 or bounds[-1] > len(content) or (np.diff(bounds) < 0).any():
        raise DataError(
            f"'{part.images}' in {path} must be uint8 [bytes] and '{part.offsets}' rising whole "
            f"numbers [n + 1] up to at most its length; got {content.dtype} {list(content.shape)} "
            f"and {offsets.dtype} {list(offsets.shape)}"
        )
    return [content[start:end].tobytes() for start, end in pairwise(bounds)]


def _read_labels(
    path: Path,
    parts: list[_Part],
    counts: list[int],
    array: Callable[[str], np.ndarray],
    classes: list[str] | None,
) -> pd.Series | None:
    """Returns the labels of all parts, None if no part has any."""
    named = [part.labels for part in parts if part.labels is not None]
    if not named:
        return None
    if len(named) < len(parts):
        lacking = listed(f"'{part.images}'" for part in parts if part.labels is None)
        raise DataError(f"{path} has no labels for {lacking}; expected: {_EXPECTED}")
    pieces = [
        as_labels(array(name), count, f"'{name}' of {path}", classes)
        for name, count in zip(named, counts, strict=True)
    ]
    return pd.concat(pieces, ignore_index=True).rename(LABEL)
