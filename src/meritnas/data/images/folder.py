"""Images in a folder with a folder of pictures for each class."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from meritnas.data.images.image_set import ImageSet
from meritnas.data.images.labels import LABEL
from meritnas.data.images.official_parts import official_part, official_test
from meritnas.data.pictures.picture import PICTURE_ENDINGS, Size, is_picture, is_readable
from meritnas.data.pictures.picture_stack import stack_pictures
from meritnas.errors import DataError
from meritnas.wording import listed


@dataclass(frozen=True)
class _ClassFolder:
    """A folder with the pictures of one class.

    Attributes:
        part: "train", "valid" or "test"; "train" where the data comes in one part.
        label: Name of the class.
        pictures: The pictures in it, sorted.
        others: What else is in it.
    """

    part: str
    label: str
    pictures: tuple[Path, ...]
    others: tuple[Path, ...]


def holds_pictures(folder: Path) -> bool:
    """Tells whether there are pictures in a folder, in its sub-folders or in theirs."""
    levels = (folder.iterdir(), folder.glob("*/*"), folder.glob("*/*/*"))
    return any(is_picture(path) for level in levels for path in level)


def read_image_folder(folder: Path, size: Size | None, *, skip_bad_rows: bool = False) -> ImageSet:
    """Reads a folder that has a sub-folder of pictures for each class, named after the class.

    There may be such folders for each of `train`, `test` and `val` in it. Pictures may lie deeper
    in a class folder. Hidden files, and files that are no pictures by their ending, are left out.

    Args:
        folder: The folder.
        size: Height and width of the images; None as `stack_pictures` says.
        skip_bad_rows: Whether damaged pictures are left out, with a note that names them.

    Raises:
        DataError: The folder has another layout, or a picture is damaged.
    """
    classes, damaged = list(_class_folders(folder)), list[str]()
    if skip_bad_rows:
        classes, damaged = _whole_ones(folder, classes)
    files = [path for found in classes for path in found.pictures]
    if not files:
        raise DataError(
            f"{folder} has no pictures in sub-folders; {expected_layout()}; "
            f"there is: {listed(sorted(path.name for path in folder.iterdir())) or 'nothing'}"
        )
    names = [str(path.relative_to(folder)) for path in files]
    try:
        images, resized = stack_pictures(files, [str(path) for path in files], size)
    except DataError as error:
        raise DataError(f"{error}; --skip-bad-rows leaves out all that are damaged") from error
    labels = [found.label for found in classes for _ in found.pictures]
    test, joined = official_test(
        [found.part for found in classes], [len(found.pictures) for found in classes]
    )
    notes = (*_left_out(folder, classes), *_skipped(damaged), *joined, *resized)
    return ImageSet(images, pd.Series(labels, name=LABEL), test, tuple(names), notes)


def read_flat_folder(folder: Path, size: Size | None) -> ImageSet:
    """Reads the pictures that lie in a folder itself, without labels, sorted by name.

    Raises:
        DataError: There are none, or one is damaged.
    """
    inside = sorted(path for path in folder.iterdir() if path.is_file() and not _hidden(path))
    files = [path for path in inside if is_picture(path)]
    if not files:
        raise DataError(
            f"{folder} has no pictures; pictures end in {', '.join(PICTURE_ENDINGS)}; "
            f"there is: {listed(sorted(path.name for path in folder.iterdir())) or 'nothing'}"
        )
    images, notes = stack_pictures(files, [str(path) for path in files], size)
    return ImageSet(images, None, names=tuple(path.name for path in files), notes=notes)


def expected_layout() -> str:
    """Returns how a folder of images must be made, for errors."""
    return (
        "put the pictures of each class into a folder named after it (data/cat/1.png, "
        "data/dog/2.png), or such folders into data/train and data/test"
    )


def _class_folders(folder: Path) -> Iterator[_ClassFolder]:
    for part, parent in _parts(folder):
        for place in _sub_folders(parent):
            files = _files_below(place)
            pictures = tuple(path for path in files if is_picture(path) and not _hidden(path))
            others = tuple(path for path in files if not is_picture(path) or _hidden(path))
            yield _ClassFolder(part, place.name, pictures, others)


def _whole_ones(folder: Path, classes: list[_ClassFolder]) -> tuple[list[_ClassFolder], list[str]]:
    """Returns classes without pictures that cannot be read, and the names of these."""
    damaged: list[Path] = []
    for found in classes:
        damaged += [path for path in found.pictures if not is_readable(path)]
    bad = set(damaged)
    whole = [
        replace(found, pictures=tuple(path for path in found.pictures if path not in bad))
        for found in classes
    ]
    return whole, [str(path.relative_to(folder)) for path in damaged]


def _skipped(damaged: list[str]) -> tuple[str, ...]:
    return (f"damaged pictures left out: {listed(damaged, 8)}",) if damaged else ()


def _parts(folder: Path) -> list[tuple[str, Path]]:
    """Returns the folders that class folders lie in, and which part of the data each is."""
    places = [(official_part(path.name), path) for path in _sub_folders(folder)]
    parts = [(part, path) for part, path in places if part is not None]
    # A data set of vehicles has a class folder `train` too, but pictures lie in it directly.
    nested = any(part == "train" and _sub_folders(path) for part, path in parts)
    if nested and len(parts) == len(places):
        return parts
    return [("train", folder)]


def _sub_folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not _hidden(path))


def _files_below(folder: Path) -> list[Path]:
    """Returns all files in a folder and its sub-folders, sorted; hidden folders are passed by."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files]
    return sorted(found)


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _left_out(folder: Path, classes: list[_ClassFolder]) -> Iterator[str]:
    """Yields a sentence for each kind of thing that was not taken."""
    empty = [found.label for found in classes if not found.pictures]
    if empty:
        yield f"class folders without pictures are left out: {listed(sorted(set(empty)))}"
    others = [path for found in classes for path in found.others]
    others += [path for path in folder.iterdir() if path.is_file()]
    hidden = sum(map(_hidden, others))
    outside = sum(is_picture(path) and not _hidden(path) for path in others)
    endings = Counter(
        path.suffix.lower() or path.name
        for path in others
        if not _hidden(path) and not is_picture(path)
    )
    told = [f"{count} {ending}" for ending, count in sorted(endings.items())]
    told += [f"{hidden} hidden"] if hidden else []
    told += [f"{outside} pictures outside of class folders"] if outside else []
    if told:
        yield f"files left out: {listed(told, 8)}"
