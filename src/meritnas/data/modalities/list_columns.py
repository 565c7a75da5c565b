"""Columns of lists of numbers as arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.errors import DataError
from meritnas.wording import listed


def list_arrays(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """The columns whose cells are lists of numbers, each as an array [n, length].

    Cells that are missing are NaN in all numbers.

    Raises:
        DataError: The lists of a column are not equally long, or not all of numbers.
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
            if len(cell):
                return isinstance(cell[0], int | float | np.number | np.bool_)
        elif not (types.is_scalar(cell) and pd.isna(cell)):
            return False
    return False


def _is_list(cell: object) -> bool:
    return isinstance(cell, list | tuple) or (isinstance(cell, np.ndarray) and cell.ndim == 1)


def _stacked(name: str, values: pd.Series) -> np.ndarray:
    given = np.array([_is_list(cell) for cell in values])
    cells = [cell for cell, own in zip(values, given, strict=True) if own]
    if not values[~given].isna().all():
        raise DataError(
            f"the column '{name}' holds {values[~given].dropna().iloc[0]!r} besides lists of "
            "numbers; make it a list too, or missing"
        )
    lengths = sorted({len(cell) for cell in cells})
    if len(lengths) > 1:
        raise DataError(
            f"the lists in the column '{name}' are {listed(lengths, 5)} long; a modality needs "
            "equally many numbers in every sample, fill up or leave out the column"
        )
    try:
        numbers = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the column '{name}' holds lists that are not all of numbers ({error}); correct them "
            "or leave out the column"
        ) from error
    if given.all():
        return numbers
    found = np.full((len(values), lengths[0]), np.nan)
    found[given] = numbers
    return found
