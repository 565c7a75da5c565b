"""New samples of several modalities, to answer for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.files.loaded import load_table
from meritnas.data.files.plain_file import given_path
from meritnas.data.modalities.arrays import Values, array_views, modality_of
from meritnas.data.modalities.list_columns import list_arrays
from meritnas.data.modalities.picture_columns import (
    as_array,
    as_cells,
    folder_of,
    known_pictures,
)
from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.source import InMemory, ModalityData, given_arrays
from meritnas.data.modalities.view import View
from meritnas.data.pictures.named import NamedPictures


def read_samples(
    path: Path, max_unpacked_mb: int, pictures: Mapping[str, tuple[str, Shape]] | None = None
) -> tuple[InMemory, list[str]]:
    """Reads a file of samples into memory, so that it need not be read again.

    Args:
        path: A NumPy archive or a table.
        max_unpacked_mb: How many megabytes it may unpack to.
        pictures: Modality -> the column or array that names pictures, and their shape.

    Returns:
        The samples, with pictures in the place of their names, and sentences about those that
        cannot be read.

    Raises:
        DataError: The file cannot be found or used.
    """
    arrays = given_arrays(path, max_unpacked_mb)
    samples = load_table(path, max_unpacked_mb=max_unpacked_mb).frame if arrays is None else arrays
    notes: list[str] = []
    for name, (column, shape) in (pictures or {}).items():
        values = samples[column] if column in samples else np.empty((0, 0))
        if values.ndim > 1:  # pixels, or nothing
            continue
        found = known_pictures(column, pd.Series(values), folder_of(str(path.resolve())), shape)
        if isinstance(found, NamedPictures):
            samples = _with_pixels(samples, found)
            notes += [f"{found.complaint()}; these rows go without '{name}'"] if found.bad else []
    return samples, notes


def _with_pixels(samples: InMemory, pictures: NamedPictures) -> InMemory:
    """Samples with pictures in the place of their names."""
    if isinstance(samples, pd.DataFrame):
        return samples.assign(**{pictures.column: as_cells(pictures)})
    return {**samples, pictures.column: as_array(pictures)}


def load_views(
    data: ModalityData,
    columns: Mapping[str, Sequence[str]],
    pictures: Mapping[str, Shape] | None = None,
) -> dict[str, View]:
    """Loads new samples for an encoder; modalities that are not there are left out.

    Args:
        data: As for `load_modalities`; a target is not needed.
        columns: The modalities and the columns of each, as `ModalityEncoder.columns` says.
        pictures: The shapes of those that a column names, as `ModalityEncoder.named_pictures` says.

    Raises:
        DataError: The data cannot be found or used.
    """
    arrays, shapes = given_arrays(data), pictures or {}
    folder = None
    if isinstance(data, str | Path):
        folder = folder_of(str(given_path(data)))
    if arrays is not None:
        return _of_arrays(arrays, columns, shapes, folder)
    assert not isinstance(data, Mapping)
    return _of_table(load_table(data).frame, columns, shapes, folder)


def _of_arrays(
    arrays: Mapping[str, Values],
    columns: Mapping[str, Sequence[str]],
    shapes: Mapping[str, Shape],
    folder: Path | None,
) -> dict[str, View]:
    views = array_views({n: a for n, a in arrays.items() if modality_of(n) in columns}, None)
    found = {name: _known_columns(view, columns[name]) for name, view in views.items()}
    named = {n: view for n, view in found.items() if n in shapes and isinstance(view, pd.Series)}
    return {**found, **{n: known_pictures(n, v, folder, shapes[n]) for n, v in named.items()}}


def _of_table(
    frame: pd.DataFrame,
    columns: Mapping[str, Sequence[str]],
    shapes: Mapping[str, Shape],
    folder: Path | None,
) -> dict[str, View]:
    found: dict[str, View] = {}
    for name, names in columns.items():
        there = [column for column in names if column in frame.columns]
        if there and name in shapes:
            found[name] = known_pictures(there[0], frame[there[0]], folder, shapes[name])
        elif there:
            found[name] = frame[there]
    arrays_only = {name for name, names in columns.items() if not names}
    whole = [column for column in frame.columns if modality_of(column) in arrays_only]
    return {**found, **array_views(list_arrays(frame[whole]), None)}


def _known_columns(view: View, columns: Sequence[str]) -> View:
    """The columns of a frame that an encoder knows; all of a frame that it knows none of."""
    if not isinstance(view, pd.DataFrame):
        return view
    there = [column for column in columns if column in view.columns]
    return view[there] if there else view
