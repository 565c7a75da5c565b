"""Reads the pictures that the cells of a column name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath, PureWindowsPath
from typing import TypeVar

import numpy as np

from meritnas.data.columns.missing_words import stand_for_missing
from meritnas.data.files.plain_file import given_path
from meritnas.data.pictures.named import NamedPictures
from meritnas.data.pictures.picture import PICTURE_ENDINGS, Size, picture_size, read_picture
from meritnas.data.pictures.picture_stack import has_colour, size_notes, usual_size
from meritnas.data.pictures.shape import with_channels
from meritnas.errors import DataError
from meritnas.wording import listed

_NO_SIZE: Size = (4, 4)
"""Of pictures none of which can be read."""

Given = TypeVar("Given")
Found = TypeVar("Found")


def is_picture_name(text: str) -> bool:
    """Whether a text ends like a picture, and is no address of the web."""
    return text.lower().endswith(PICTURE_ENDINGS) and "://" not in text


def read_named(
    column: str,
    cells: Sequence[str],
    folder: Path | None,
    size: Size | None = None,
    channels: int | None = None,
) -> NamedPictures:
    """Reads the pictures that cells name; what cannot be read is kept as `bad`.

    Args:
        column: Its name.
        cells: What its cells hold [n], empty for missing.
        folder: Where the table is, in which all pictures must be; None for a table in memory, whose
            names are taken as they are.
        size: Height and width; None for the most common size, scaled down to at most 64 pixels.
        channels: 1 for grey, 3 for colours, None for 3 if any picture has a colour.
    """
    bad: dict[int, str] = {}
    named = {row: text for row, text in enumerate(cells) if text and not stand_for_missing([text])}
    paths = _each(named, lambda text: picture_path(text, folder), bad)
    notes: tuple[str, ...] = ()
    if size is None:
        sizes = _each(paths, lambda path: picture_size(path, str(path)), bad)
        counted = Counter(sizes.values())
        size = usual_size(counted) if counted else _NO_SIZE
        notes = size_notes(counted, size) if counted else ()
    images, present = _pixels(paths, len(cells), size, channels, bad)
    return NamedPictures(column, images, present, bad, notes)


def _pixels(
    paths: Mapping[int, Path], rows: int, size: Size, channels: int | None, bad: dict[int, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Pixels uint8 [n, h, w, c] and whether a row has a picture, bool [n]."""
    images = np.zeros((rows, *size, channels or 1), dtype=np.uint8)
    present = np.zeros(rows, dtype=bool)
    for row, path in paths.items():
        found = _each({row: path}, lambda each: read_picture(each, str(each), size), bad)
        if row not in found:
            continue
        if channels is None and images.shape[3] == 1 and has_colour(found[row]):
            images = np.repeat(images, 3, axis=3)
        images[row] = with_channels(found[row][None], images.shape[3])[0]
        present[row] = True
    return images, present


def picture_path(text: str, folder: Path | None) -> Path:
    """Where a picture is that a cell names.

    Raises:
        DataError: It is no picture's name, or leads out of the table's folder.
    """
    if not is_picture_name(text):
        raise DataError(f"{text!r} is no name of a picture; they end in {listed(PICTURE_ENDINGS)}")
    if folder is None:
        return given_path(text)
    path = PurePath(text)
    if path.is_absolute() or PureWindowsPath(text).drive or ".." in path.parts:
        raise DataError(
            f"{text!r} leads out of the table's folder; name pictures from there on, img/001.jpg"
        )
    return folder / path


def _each(
    given: Mapping[int, Given], read: Callable[[Given], Found], bad: dict[int, str]
) -> dict[int, Found]:
    """What was read of each row; why it was not goes to `bad`."""
    found = {}
    for row, one in given.items():
        try:
            found[row] = read(one)
        except DataError as error:
            bad[row] = str(error).partition("; ")[0]
    return found
