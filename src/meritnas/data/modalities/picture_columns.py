"""Columns that name pictures, as modalities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.modalities.list_columns import list_arrays
from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.view import View, plain_texts
from meritnas.data.pictures.named import NamedPictures
from meritnas.data.pictures.names import names_pictures
from meritnas.data.pictures.picture import Size
from meritnas.data.pictures.read_named import read_named
from meritnas.errors import DataError


@dataclass(frozen=True)
class WantedPictures:
    """What a user decides about pictures that a column names.

    Attributes:
        size: Height and width; None for the most common size, scaled down to at most 64 pixels.
        skip_bad: Whether rows whose picture cannot be read are left out.
    """

    size: Size | None = None
    skip_bad: bool = False


def folder_of(location: str | None) -> Path | None:
    """Where the names of pictures lead from: the folder of a file; None for what is in memory."""
    if location is None:
        return None
    path = Path(location)
    return path if path.is_dir() else path.parent


def with_pictures(
    views: Mapping[str, View], folder: Path | None, size: Size | None
) -> dict[str, View]:
    """The views, where texts that are names of pictures have become these.

    Raises:
        DataError: A size is asked for, and no column names pictures.
    """
    found = dict(views)
    for name, view in views.items():
        if isinstance(view, pd.Series) and _one_column(view) and names_pictures(view):
            column = view.name[0] if isinstance(view.name, tuple) else name
            found[name] = read_named(column, plain_texts(view), folder, size)
    if size is not None and not any(isinstance(each, NamedPictures) for each in found.values()):
        raise DataError(
            "image_size is for pictures that a column names, and here is no such column; leave it "
            "out"
        )
    return found


def known_pictures(
    column: str, values: pd.Series, folder: Path | None, shape: Shape
) -> NamedPictures | np.ndarray:
    """The pictures of a column of new samples: those that it names, or that are its cells.

    Args:
        column: Its name.
        values: Its cells.
        folder: Where names lead from; None for a table in memory.
        shape: Channels, height and width that pictures are brought to.
    """
    arrays = list_arrays(values.to_frame(column))
    if arrays:
        return arrays[column]
    channels, height, width = shape
    return read_named(column, plain_texts(values), folder, (height, width), channels)


def as_cells(pictures: NamedPictures) -> pd.Series:
    """Pictures as the cells of a column; None where there is none."""
    each = zip(pictures.images, pictures.present, strict=True)
    return pd.Series([image if there else None for image, there in each], dtype=object)


def as_array(pictures: NamedPictures) -> np.ndarray:
    """Pictures as an array [n, h, w, c]; NaN where there is none."""
    if pictures.present.all():
        return pictures.images
    pixels = pictures.images.astype(np.float32)
    pixels[~pictures.present] = np.nan
    return pixels


def check_pictures(views: Mapping[str, View]) -> None:
    """Complains about pictures that cannot be read.

    Raises:
        DataError: There are some; it names rows, counted from 1.
    """
    for view in views.values():
        if isinstance(view, NamedPictures) and view.bad:
            raise DataError(
                f"{view.complaint()}; rows count from 1. Mend these, leave such rows out with "
                "--skip-bad-rows, or leave the column out by naming the other modalities: "
                "--modality NAME"
            )


def _one_column(view: pd.Series) -> bool:
    return not isinstance(view.name, tuple) or len(view.name) == 1
