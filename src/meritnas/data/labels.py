"""Target columns: classes or numbers, and what to say about them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.as_numbers import parse_numbers
from meritnas.data.columns.far_values import find_far_values
from meritnas.errors import DataError
from meritnas.wording import listed

Label: TypeAlias = str | int | float | bool

_MOST_CLASSES = 50
_LEAST_ROWS_OF_A_CLASS = 3
_RARE_CLASS = 0.3
"""A class with less than this part of an equal share of the rows is worth a note."""


def is_classification(values: pd.Series) -> bool:
    """Tells whether a target column names classes.

    Text, categories and booleans do. Numbers do if all are whole and there are at most 50 of
    them, and at most one for every ten rows (but two are always classes): more distinct whole
    numbers count or measure something.
    """
    if types.is_bool_dtype(values.dtype) or not types.is_numeric_dtype(values.dtype):
        return True
    numbers = target_numbers(values)
    return are_codes(np.unique(numbers), len(numbers))


def are_codes(different: np.ndarray, rows: int) -> bool:
    """Whether the different numbers of a column of so many rows name classes."""
    if not np.array_equal(different, np.floor(different)):
        return False
    return len(different) <= max(2, min(_MOST_CLASSES, rows // 10))


def find_classes(values: pd.Series) -> tuple[Label, ...]:
    """Returns the distinct labels of a target column, sorted, as plain Python values.

    Raises:
        DataError: There is one class only, a class is too rare to be in each of three parts, or
            the column looks like an identifier.
    """
    return classes_of(values.astype(object).value_counts(), str(values.name))


def classes_of(counts: pd.Series, name: str) -> tuple[Label, ...]:
    """The same by how many rows each label has, the most frequent first.

    Raises:
        DataError: As `find_classes` says.
    """
    total = int(counts.sum())
    labels = [label.item() if isinstance(label, np.generic) else label for label in counts.index]
    _check_types(labels, name)
    if len(labels) == 1:
        raise DataError(
            f"the target '{name}' has the one class {labels[0]!r} in all rows; "
            "there is nothing to learn, name another column"
        )
    if len(labels) > max(20, 0.5 * total):
        raise DataError(
            f"the target '{name}' has {len(labels)} classes in {total} rows and looks like "
            "an identifier; name another column, or ask for regression if it holds numbers"
        )
    rarest, rows = counts.index[-1], int(counts.iloc[-1])
    if rows < _LEAST_ROWS_OF_A_CLASS:
        raise DataError(
            f"the class {rarest!r} of the target '{name}' has {rows} rows, but train, validation "
            f"and test each need one: at least {_LEAST_ROWS_OF_A_CLASS}; drop these rows, merge "
            "the class with another, or ask for regression if the target is a number"
        )
    return tuple(sorted(labels))


def guess_note(values: pd.Series, classes: tuple[Label, ...]) -> str:
    """Returns a sentence about a target that was guessed to have classes; empty if it surely has.

    Args:
        values: The target column.
        classes: Its classes; empty for a number.
    """
    numeric = types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype)
    if not numeric or len(classes) <= 2:
        return ""
    return (
        f"the target '{values.name}' has {len(classes)} distinct whole numbers, taken as classes; "
        "to predict a number instead: --task regression"
    )


def rarity_note(values: pd.Series) -> str:
    """Returns a sentence about the rarest class of a target; empty if it is not very rare."""
    return rare_class_note(values.astype(object).value_counts(), str(values.name))


def rare_class_note(counts: pd.Series, name: str) -> str:
    """The same by how many rows each label has, the most frequent first."""
    rarest, share = counts.index[-1], float(counts.iloc[-1]) / float(counts.sum())
    if share >= _RARE_CLASS / len(counts):
        return ""
    return (
        f"the class {rarest!r} of '{name}' has {100 * share:.2g} % of the rows; "
        "to make classes count alike: --class-weight balanced"
    )


def target_numbers(values: pd.Series) -> np.ndarray:
    """Returns a target column as float64 [n].

    Raises:
        DataError: A value is not a number, missing, or infinite.
    """
    if types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = parse_numbers(values.astype(object))
    # A network computes in float32; NaN compares as not within.
    finite = np.abs(numbers) <= np.finfo(np.float32).max
    if not finite.all():
        strange = values.astype(object).iloc[int(np.argmin(finite))]
        raise DataError(
            f"the target '{values.name}' holds {strange!r} in {int((~finite).sum())} rows, "
            "which is infinite, too large or no number; correct or drop these rows"
        )
    return numbers


def check_target_numbers(numbers: np.ndarray, name: str) -> None:
    """Complains about a fill value in a target to be predicted as a number.

    Raises:
        DataError: Some are far beyond all others (see `find_far_values`).
    """
    far = find_far_values(numbers)
    if far is None:
        return
    rows = np.flatnonzero(far.are(numbers)) + 1
    where = f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows ({listed(rows, most=5)})"
    raise DataError(
        f"the target '{name}' holds {far.example:g} in {where}, counted from 1, while the others "
        f"are at most {far.others:g}; such a number usually stands for a missing one, correct or "
        "drop these rows"
    )


def _check_types(labels: list[object], name: str) -> None:
    found = {type(label) for label in labels}
    if len(found) > 1 or not found <= {str, int, float, bool}:
        raise DataError(
            f"the target '{name}' holds labels of type "
            f"{listed(sorted(kind.__name__ for kind in found))}; "
            "make them all text, or all numbers"
        )
    if any(isinstance(label, float) and not np.isfinite(label) for label in labels):
        raise DataError(f"the target '{name}' holds infinite values; correct or drop these rows")
