"""The classes of images, one for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from meritnas.errors import DataError
from meritnas.wording import listed

LABEL = "label"
"""Name of the series that labels are in."""


def as_labels(
    values: object, count: int, where: str, classes: Sequence[str] | None = None
) -> pd.Series:
    """Returns the class of each image, whole numbers or text, as a series named "label".

    Args:
        values: Class numbers or names [n] or [n, 1], or one-hot rows [n, classes].
        count: How many images there are.
        where: What errors call the labels.
        classes: Names of the classes 0, 1, ...; None to leave numbers as they are.

    Raises:
        DataError: There is not one label for each image, or a label names no class.
    """
    array = _flat(np.asarray(values), where)
    if len(array) != count:
        raise DataError(f"{where} has {len(array)} labels for {count} images; give one for each")
    if array.dtype.kind == "O":
        array = _plain(array, where)
    if array.dtype.kind == "f":
        array = _whole(array, where)
    elif array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    elif array.dtype.kind not in "biuU":
        raise DataError(
            f"{where} has labels of type {array.dtype}; make them whole numbers or text"
        )
    if classes is not None and array.dtype.kind in "iu":
        return _named(array, classes, where)
    return pd.Series(array.tolist(), name=LABEL)


def _flat(array: np.ndarray, where: str) -> np.ndarray:
    if array.ndim == 1:
        return array
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    one_hot = array.ndim == 2 and array.dtype.kind in "biuf" and array.shape[1] > 1
    if one_hot and ((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all():
        return array.argmax(axis=1)
    raise DataError(
        f"{where} has labels of shape {list(array.shape)}; give one class for each image: [n]"
    )


def _whole(array: np.ndarray, where: str) -> np.ndarray:
    whole = np.isfinite(array) & (np.floor(array) == array)
    if not whole.all():
        raise DataError(
            f"{where} has the label {array[int(np.argmin(whole))]}, but labels are classes; "
            "make them whole numbers or text"
        )
    return array.astype(np.int64)


def _plain(array: np.ndarray, where: str) -> np.ndarray:
    """Returns Python objects as an array of the one type that they have."""
    missing = pd.isna(array)
    if missing.any():
        raise DataError(
            f"{where} lacks the labels of {int(missing.sum())} of {len(array)} images; "
            "drop these images"
        )
    values = [value.item() if isinstance(value, np.generic) else value for value in array]
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {str, int, float, bool}:
        raise DataError(
            f"{where} has labels of type {listed(sorted(kind.__name__ for kind in kinds))}; "
            "make them all whole numbers, or all text"
        )
    return np.array(values)


def _named(array: np.ndarray, classes: Sequence[str], where: str) -> pd.Series:
    if len(set(classes)) < len(classes):
        raise DataError(f"{where} has class names that occur twice; names: {listed(classes)}")
    if len(array) and not (array.min() >= 0 and array.max() < len(classes)):
        raise DataError(
            f"{where} has labels from {array.min()} to {array.max()} but {len(classes)} class "
            f"names; labels must be from 0 to {len(classes) - 1}"
        )
    names = [str(name) for name in classes]
    return pd.Series([names[code] for code in array.tolist()], name=LABEL)
