"""What to predict of each sample, in whatever form it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.modalities.arrays import as_text
from meritnas.data.multilabel import array_frame
from meritnas.errors import DataError

_KINDS = "biufUO"
"""Of types that are numbers, text, or whatever Python has."""


def target_values(
    values: Any, target: str, names: np.ndarray | None = None
) -> pd.Series | pd.DataFrame:
    """What to predict of each sample: one value [n], or 0 and 1 of each label [n, labels].

    Args:
        values: One value a sample [n]; 0 and 1 [n, labels], of which a frame's columns name the
            labels; or lists of the labels' names, which are left as they are.
        target: Its name.
        names: Of class numbers or of labels; None for none.

    Raises:
        DataError: It is neither.
    """
    if isinstance(values, pd.DataFrame):
        if values.shape[1] != 1:
            return array_frame(_numbers(values), np.array(values.columns, dtype=object), target)
        values = values.iloc[:, 0]
    rows = _several(values)
    if any(isinstance(label, str) for row in rows if _is_list(row) for label in row):
        return pd.Series(rows, name=target, dtype=object)
    try:
        answers = as_text(np.asarray(rows or values))
    except ValueError as error:
        raise DataError(
            f"the target '{target}' has rows of unequal length; give one value a row [n], 0 and 1 "
            "for each label [n, labels], or lists of the labels' names"
        ) from error
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if answers.ndim != 1:
        return array_frame(answers, names, target)
    return _named(answers, names, target)


def _several(values: Any) -> list[Any]:
    """The rows of a target where one of them is a list; empty where none is."""
    if isinstance(values, np.ndarray):
        one = values.ndim == 0 or values.shape[1:] == (1,)
        rows = [] if one or values.dtype.kind in "biuf" else list(values)
    else:
        rows = list(values) if isinstance(values, list | tuple | pd.Series) else []
    return rows if any(map(_is_list, rows)) else []


def _is_list(row: object) -> bool:
    return isinstance(row, list | tuple | set | np.ndarray)


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    try:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return frame.to_numpy()  # no numbers, which is for others to complain about


def _named(answers: np.ndarray, names: np.ndarray | None, target: str) -> pd.Series:
    """The target [n], with names for class numbers where there are any."""
    if answers.dtype.kind not in _KINDS:
        raise DataError(f"the target '{target}' holds {answers.dtype}; give numbers or text")
    kind = object if answers.dtype.kind in "UO" else None
    values = pd.Series(answers, name=target, dtype=kind)
    if kind is object:
        return values.mask(values.isin([""]))
    if names is None or answers.dtype.kind not in "iu" or not len(answers):
        return values
    if names.ndim != 1:
        raise DataError(
            f"'{target}_names' has the shape {list(names.shape)}; give a name for each number of "
            f"'{target}' from 0 on: [names]"
        )
    if answers.min() < 0 or answers.max() >= len(names):
        raise DataError(
            f"'{target}_names' has {len(names)} names, but '{target}' holds numbers from "
            f"{answers.min()} to {answers.max()}; give a name for each from 0 on"
        )
    return pd.Series(as_text(names)[answers], name=target, dtype=object)
