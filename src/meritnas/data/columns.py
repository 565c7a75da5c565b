from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.errors import DataError

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class NumberColumn:
    """A column taken as a number: standardised, missing values at the mean.

    Attributes:
        name: Name in the table.
        mean: Mean over the train rows.
        scale: Standard deviation over the train rows.
        indicator: Whether an input of its own tells that the value is missing.
    """

    name: str
    mean: float
    scale: float
    indicator: bool


@dataclass(frozen=True)
class CategoryColumn:
    """A column taken as one of several categories, compared as text (see `category_key`).

    Attributes:
        name: Name in the table.
        categories: The categories of the train rows, sorted; code 1 is the first of them.
    """

    name: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class DroppedColumn:
    """A column that is left out, and why."""

    name: str
    reason: str


Column = NumberColumn | CategoryColumn | DroppedColumn


def decide_column(values: pd.Series) -> Column:
    """Decides how to take a column, by its train rows.

    Numbers and dates are numbers, and so is text that all parses as numbers. Everything else
    is a category. Left out are columns that are all missing, that hold one value in every row,
    and text that is nearly unique (more distinct values than 20 and than half of the rows): names
    and identifiers.

    Raises:
        DataError: The column holds infinite values or values too large to standardise.
    """
    name = str(values.name)
    numbers = None if _holds_booleans(values) else parse_numbers(values)[0]
    if numbers is None:
        return decide_text(values, name)
    present = numbers[~np.isnan(numbers)]
    if len(present) == 0:
        return DroppedColumn(name, "all values are missing")
    _check_finite(present, name)
    missing = len(present) < len(numbers)
    if not missing and present.min() == present.max():
        return DroppedColumn(name, f"constant, {present[0]:g} in every row")
    scale = float(present.std())
    # One value besides missing ones, or differences too small for a square, leave no scale.
    return NumberColumn(name, float(present.mean()), scale if scale > 0 else 1.0, missing)


def is_three_codes(values: pd.Series) -> bool:
    """Whether a number column holds exactly three distinct whole values, such as 0, 1, 2."""
    numbers = parse_numbers(values)[0]
    if numbers is None:
        return False
    present = numbers[~np.isnan(numbers)]
    # A glance at the first rows settles most columns without sorting all of them.
    if len(np.unique(present[:100])) > 3 or not np.array_equal(present, np.floor(present)):
        return False
    return len(np.unique(present)) == 3


def standardise(column: NumberColumn, values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Returns a number column as float32 [n] with missing values at 0, and where they are [n].

    Raises:
        DataError: A value is not a number, or is infinite.
    """
    numbers, strange = parse_numbers(values)
    if numbers is None:
        raise DataError(
            f"column '{column.name}' holds {strange!r} where a number is needed; "
            "correct the value or leave it empty"
        )
    missing = np.isnan(numbers)
    with np.errstate(over="ignore"):  # what overflows is told as an error below
        scaled = (numbers - column.mean) / column.scale
    scaled[missing] = 0.0
    _check_finite(scaled, column.name)
    return scaled.astype(np.float32), missing


def codes_of(column: CategoryColumn, values: pd.Series) -> np.ndarray:
    """Returns category numbers [n]: 0 for missing or unseen, 1.. for the known categories."""
    code_of = {category: code for code, category in enumerate(column.categories, 1)}
    if set(code_of) <= {"False", "True"}:  # what one file calls true, another calls 1
        code_of.update({"0": code_of.get("False", 0), "1": code_of.get("True", 0)})
    codes, keys = _factorize(values)
    # Missing values have the code -1, which takes the last entry.
    table = np.array([code_of.get(key, 0) for key in keys] + [0], dtype=np.float32)
    return table[codes]


def category_key(value: object) -> str:
    """Returns the text that stands for a value, the same however a file happened to be parsed.

    The same column may be read as integers, as floats (if a value is missing), or as text (if
    one value is not a number), so 1, 1.0 and "1.0" are all "1", and True and "true" are "True".
    """
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.capitalize()
    try:
        number = float(text)
    except ValueError:
        return text
    # Python reads "1_000" as a number, files do not mean it.
    if not math.isfinite(number) or "_" in text:
        return text
    try:
        return str(int(text))
    except ValueError:
        return str(int(number)) if number.is_integer() else repr(number)


def parse_numbers(values: pd.Series) -> tuple[np.ndarray | None, object]:
    """Reads a column as float64 [n] with NaN for missing values; dates become seconds.

    Returns:
        The numbers and None, or None and the first value that is not a number.
    """
    kind = values.dtype
    if types.is_numeric_dtype(kind):
        return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan)), None
    if types.is_datetime64_any_dtype(kind):
        epoch = pd.Timestamp(0, tz=getattr(kind, "tz", None))
        return ((values - epoch) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64), None
    if types.is_timedelta64_dtype(kind):
        return (values / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64), None
    return _parse_text(values)


def _parse_text(values: pd.Series) -> tuple[np.ndarray | None, object]:
    try:
        # Text repeats itself: parsing the distinct values only is many times faster.
        codes, distinct = pd.factorize(values)
        text = pd.Series(distinct, dtype=object)
        parsed = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    except TypeError:
        # Lists and other values that Python cannot hash.
        return None, values.iloc[0]
    # Blank text is a missing value.
    strange = np.isnan(parsed) & (text.astype(str).str.strip() != "").to_numpy()
    if strange.any():
        return None, text.iloc[int(np.argmax(strange))]
    # Missing values have the code -1, which takes the last entry.
    return np.append(parsed, np.nan)[codes], None


def decide_text(values: pd.Series, name: str) -> Column:
    """Decides on a column of categories: taken, or left out when constant or nearly unique."""
    codes, keys = _factorize(values)
    present = int((codes >= 0).sum())
    distinct = sorted(set(keys))
    if not distinct:
        return DroppedColumn(name, "all values are missing")
    if len(distinct) == 1 and present == len(values):
        return DroppedColumn(name, f"constant, '{distinct[0]}' in every row")
    if len(distinct) > max(20, 0.5 * present):
        return DroppedColumn(name, f"nearly unique text, {len(distinct)} values in {present} rows")
    return CategoryColumn(name, tuple(distinct))


def _factorize(values: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Returns for each row the position of its key, -1 for missing, and the keys."""
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:
        # Lists and other values that Python cannot hash.
        codes, distinct = pd.factorize(values.map(str, na_action="ignore"))
    keys = [category_key(value) for value in distinct]
    empty = np.array([key == "" for key in keys] + [True])
    kept = np.cumsum(~empty) - 1
    return np.where(empty[codes], -1, kept[codes]), [key for key in keys if key]


def _holds_booleans(values: pd.Series) -> bool:
    if types.is_bool_dtype(values.dtype):
        return True
    if not types.is_object_dtype(values.dtype):
        return False
    return types.infer_dtype(values, skipna=True) == "boolean"


def _check_finite(numbers: np.ndarray, name: str) -> None:
    if np.isinf(numbers).any() or np.abs(numbers).max(initial=0.0) > _LARGEST:
        raise DataError(
            f"column '{name}' holds infinite values or values too large for a network; "
            "correct them or leave them empty"
        )
