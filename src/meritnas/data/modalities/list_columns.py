"""Columns of lists of numbers, or of arrays such as pictures, as one array each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.errors import DataError
from meritnas.wording import listed

_AXES = (1, 2, 3)
"""Of an array in a cell: a vector, a grey picture, one in colours."""


def list_arrays(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """The columns whose cells are lists of numbers or arrays, each as an array [n, ...].

    Cells that are missing are NaN in all numbers.

    Raises:
        DataError: The lists of a column are not equally long, arrays not of one shape, or what is
            in them is no number.
    """
    return {
        str(name): _stacked(str(name), values)
        for name, values in frame.items()
        if _holds_lists(values)
    }


def _holds_lists(values: pd.Series) -> bool:
    """Whether a column's first cell that is not empty is a list of numbers."""
    if not types.is_object_dtype(values.dtype):
        return False
    for cell in values:
        if _is_list(cell):
            if isinstance(cell, np.ndarray) and cell.ndim > 1:
                return cell.dtype.kind in "biuf"
            if len(cell):
                return isinstance(cell[0], int | float | np.number | np.bool_)
        elif not (types.is_scalar(cell) and pd.isna(cell)):
            return False
    return False


def _is_list(cell: object) -> bool:
    return isinstance(cell, list | tuple) or (isinstance(cell, np.ndarray) and cell.ndim in _AXES)


def _is_array(cell: object) -> bool:
    return isinstance(cell, np.ndarray)


def _stacked(name: str, values: pd.Series) -> np.ndarray:
    given = np.array([_is_list(cell) for cell in values])
    cells = [cell for cell, own in zip(values, given, strict=True) if own]
    if not values[~given].isna().all():
        raise DataError(
            f"the column '{name}' holds {values[~given].dropna().iloc[0]!r} besides lists of "
            "numbers; make it a list too, or missing"
        )
    shapes = sorted({np.shape(cell) if _is_array(cell) else (len(cell),) for cell in cells})
    if len(shapes) > 1:
        told = [shape[0] if len(shape) == 1 else list(shape) for shape in shapes]
        raise DataError(
            f"the lists in the column '{name}' are {listed(told, 5)} long; a modality needs "
            "equally many numbers in every sample, fill up or leave out the column"
        )
    pixels = all(_is_array(cell) and cell.dtype == np.uint8 for cell in cells)
    try:
        numbers = np.array(cells, dtype=np.uint8 if pixels else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the column '{name}' holds lists that are not all of numbers ({error}); correct them "
            "or leave out the column"
        ) from error
    if given.all():
        return numbers
    kind = np.float32 if pixels else np.float64
    found = np.full((len(values), *shapes[0]), np.nan, dtype=kind)
    found[given] = numbers
    return found
