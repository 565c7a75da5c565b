"""Columns read as numbers or as truths."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.errors import DataError


def as_numbers(values: pd.Series) -> tuple[np.ndarray | None, object]:
    """Reads a column as float64 [n], not to be changed, with NaN for missing values.

    Times and durations become seconds.

    Returns:
        The numbers and None, or None and the first value that is not a number.
    """
    kind = values.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return values.to_numpy().astype(np.float64, copy=False), None
    if types.is_numeric_dtype(kind):
        return values.to_numpy(dtype=np.float64, na_value=np.nan), None
    if types.is_datetime64_any_dtype(kind):
        epoch = pd.Timestamp(0, tz=getattr(kind, "tz", None))
        return ((values - epoch) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64), None
    if types.is_timedelta64_dtype(kind):
        return (values / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64), None
    return distinct_numbers(find_distinct(values))


def distinct_numbers(distinct: Distinct) -> tuple[np.ndarray | None, object]:
    """Reads a column as `as_numbers` does, by its different values."""
    kind = types.infer_dtype(distinct.values)
    if kind in ("timedelta", "timedelta64"):
        parsed = pd.to_timedelta(distinct.values).total_seconds().to_numpy(dtype=np.float64)
        return distinct.spread(parsed, np.nan), None
    # Where one value of the first few is no number the many others need not be tried.
    for few in (distinct.values[:20], distinct.values):
        text = pd.Series(few, dtype=object)
        try:
            parsed = parse_numbers(text)
        except TypeError:
            return None, text.iloc[0]
        strange = np.isnan(parsed)
        if strange.any():
            return None, text.iloc[int(np.argmax(strange))]
    return distinct.spread(parsed, np.nan), None


def parse_numbers(values: pd.Series) -> np.ndarray:
    """Reads objects as float64 [n]: NaN for what is no number, infinite for what is too large."""
    try:
        found = pd.to_numeric(values, errors="coerce")
    except OverflowError:
        found = pd.to_numeric(values.map(_or_infinite), errors="coerce")
    return found.to_numpy(dtype=np.float64, na_value=np.nan)


def _or_infinite(value: object) -> object:
    """A whole number as it is, or infinity for one beyond float64."""
    if not isinstance(value, int):
        return value
    try:
        float(value)
    except OverflowError:
        return np.inf
    return value


def as_truths(values: pd.Series) -> np.ndarray | None:
    """Reads a column of true and false, 1 and 0 as float64 [n]; None if it holds anything else."""
    words = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}
    distinct = find_distinct(values)
    found = [words.get(str(value).strip().lower()) for value in distinct.values]
    if None in found:
        return None
    return distinct.spread(np.array(found, dtype=np.float64), np.nan)


def check_finite(numbers: np.ndarray, name: str) -> None:
    """Complains about infinite numbers, also those that are too large for float64; NaN is fine.

    Raises:
        DataError: There is such a number.
    """
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise DataError(
            f"column '{name}' holds infinite values, {infinite:,} among {len(numbers):,} rows; "
            "correct them or leave them empty"
        )
