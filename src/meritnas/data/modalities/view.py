"""The values of one modality as they were found."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd

from meritnas.data.pictures.named import NamedPictures

View: TypeAlias = np.ndarray | tuple[np.ndarray, ...] | pd.Series | pd.DataFrame | NamedPictures
"""The values of one modality of n samples as they were found.

Numbers [n] or [n, columns] are a vector; [n, h, w], [n, h, w, c] or [n, c, h, w] a picture; a tuple
of numbers [n, columns], [n, c, length] or [n, c, h, w] are the features of one modality; a series
[n] is written text, its name a tuple of the columns it comes from; a frame [n, columns] is a table;
`NamedPictures` are those of a column that names files.
"""


def view_rows(view: View) -> int:
    """How many samples a view has."""
    return len(view[0]) if isinstance(view, tuple) else len(view)


def take_rows(view: View, rows: np.ndarray) -> View:
    """The view of some samples, given by their positions or by yes and no."""
    if isinstance(view, tuple):
        return tuple(array[rows] for array in view)
    if isinstance(view, NamedPictures):
        return view.take(rows)
    if isinstance(view, np.ndarray):
        return view[rows]
    return view.iloc[rows].reset_index(drop=True)


def present_rows(view: View) -> np.ndarray:
    """Whether each sample has the modality, bool [n].

    It lacks what is NaN in all numbers, an empty text, a picture that cannot be read, and a row of
    a table without any value.
    """
    if isinstance(view, NamedPictures):
        return view.present
    if isinstance(view, pd.Series):
        return np.array([bool(text) for text in plain_texts(view)], dtype=bool)
    if isinstance(view, pd.DataFrame):
        return view.notna().any(axis=1).to_numpy()
    arrays = view if isinstance(view, tuple) else (view,)
    present = np.zeros(len(arrays[0]), dtype=bool)
    for array in arrays:
        present |= ~empty_rows(array)
    return present


def empty_rows(array: np.ndarray) -> np.ndarray:
    """Whether all numbers of a sample are NaN, bool [n]."""
    if array.dtype.kind != "f":
        return np.zeros(len(array), dtype=bool)
    return np.isnan(array).all(axis=tuple(range(1, array.ndim)))


def plain_texts(values: pd.Series) -> list[str]:
    """Texts without surrounding blanks; what is missing is empty."""
    missing = values.isna().to_numpy()
    return [
        "" if gone else str(text).strip()
        for text, gone in zip(values.tolist(), missing, strict=True)
    ]


def join_texts(frame: pd.DataFrame) -> pd.Series:
    """The columns of a frame as one text a row, named by the columns; None where all are empty."""
    columns = [plain_texts(values) for _, values in frame.items()]
    joined = [" ".join(filter(None, texts)) or None for texts in zip(*columns, strict=True)]
    return pd.Series(joined, dtype=object, name=tuple(map(str, frame.columns)))
