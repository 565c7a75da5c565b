"""Images in MNIST's idx files."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.files.plain_file import read_plain_file
from meritnas.data.files.unpacking import GZIP, unpack_gzip
from meritnas.data.images.image_set import ImageSet
from meritnas.data.images.labels import LABEL, as_labels
from meritnas.data.images.official_parts import official_test
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import listed

_IMAGES = re.compile(r"(?P<stem>.*)images[-._]?idx3([-._]ubyte)?(\.gz)?", re.IGNORECASE)
_LABELS = re.compile(r"(?P<stem>.*)labels[-._]?idx1([-._]ubyte)?(\.gz)?", re.IGNORECASE)
_UBYTE = 8


def is_idx_file(path: Path) -> bool:
    """Tells by its name whether a file is one of MNIST's kind, such as train-images-idx3-ubyte."""
    return bool(_IMAGES.fullmatch(path.name) or _LABELS.fullmatch(path.name))


def has_idx_files(folder: Path) -> bool:
    """Tells whether images of MNIST's kind lie in a folder."""
    return any(_IMAGES.fullmatch(path.name) for path in folder.iterdir())


def read_idx_folder(folder: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> ImageSet:
    """Reads train-images-idx3-ubyte and its labels, and t10k-... or test-... as test images.

    Raises:
        DataError: A file is missing or damaged, or there are several data sets.
    """
    stems = _by_stem(folder, _IMAGES)
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for stem in sorted(stems):
        parts["test" if re.search("t10k|test", stem, re.IGNORECASE) else "train"].append(stem)
    for found in parts.values():
        if len(found) > 1:
            files = listed(stems[stem].name for stem in found)
            raise DataError(f"{folder} holds several data sets: {files}; name one of these files")
    pieces = {
        part: read_idx_images(stems[found[0]], max_unpacked_mb)
        for part, found in parts.items()
        if found
    }
    if len(pieces) == 1:
        return next(iter(pieces.values()))
    train, test = pieces["train"], pieces["test"]
    if train.images.shape[1:] != test.images.shape[1:]:
        raise DataError(
            f"train images in {folder} are {list(train.images.shape[1:3])} and test images "
            f"{list(test.images.shape[1:3])} (height, width); make them alike"
        )
    mask, _ = official_test(("train", "test"), (len(train.images), len(test.images)))
    labels = None
    if train.labels is not None and test.labels is not None:
        labels = pd.concat([train.labels, test.labels], ignore_index=True).rename(LABEL)
    return ImageSet(np.concatenate([train.images, test.images]), labels, mask)


def read_idx_images(path: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> ImageSet:
    """Reads a file of images and, if it lies beside it, the file of their labels.

    Args:
        path: The file of images.
        max_unpacked_mb: How many megabytes a file may unpack to.

    Raises:
        DataError: A file is damaged or unpacks to too much, or the two do not belong together.
    """
    match = _IMAGES.fullmatch(path.name)
    if match is None:
        raise DataError(f"{path} holds labels; name the file of the images, such as images-idx3")
    images = _read_idx(path, 3, max_unpacked_mb)[..., None]
    if not images[:1].size and len(images):
        raise DataError(f"the images in {path} have no pixels; copy or load it again")
    beside = _by_stem(path.parent, _LABELS).get(match["stem"])
    if beside is None:
        return ImageSet(images, None)
    labels = _read_idx(beside, 1, max_unpacked_mb)
    return ImageSet(images, as_labels(labels, len(images), str(beside)))


def _by_stem(folder: Path, pattern: re.Pattern[str]) -> dict[str, Path]:
    """Returns the files of a pattern by what comes before it; unpacked ones win over .gz."""
    matches = [(pattern.fullmatch(path.name), path) for path in sorted(folder.iterdir())]
    found = [(match["stem"], path) for match, path in matches if match]
    found.sort(key=lambda pair: pair[1].suffix.lower() != ".gz")
    return dict(found)


def _read_idx(path: Path, axes: int, max_unpacked_mb: int) -> np.ndarray:
    """Returns the bytes in a file as uint8 with a number of axes."""
    content = read_plain_file(path)
    if content.startswith(GZIP):
        content = unpack_gzip(content, path, max_unpacked_mb)
    magic = bytes((0, 0, _UBYTE, axes))
    header = 4 + 4 * axes
    if content[:4] == magic and len(content) < header:
        raise DataError(f"{path} ends within its header; copy or load it again")
    if content[:4] != magic:
        raise DataError(
            f"{path} begins with the bytes {content[:4].hex(' ') or 'none'}, but a file of "
            f"{'images' if axes == 3 else 'labels'} of this kind begins with {magic.hex(' ')}; "
            "copy or load it again"
        )
    shape = [int(side) for side in np.frombuffer(content, ">u4", axes, offset=4)]
    expected = math.prod(shape)
    if len(content) - header != expected:
        raise DataError(
            f"{path} says it holds {' x '.join(map(str, shape))} = {expected:,} bytes but has "
            f"{len(content) - header:,}; copy or load it again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
