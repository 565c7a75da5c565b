"""Columns read as numbers or as truths."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.errors import DataError

_LARGEST = float(np.finfo(np.float32).max)


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
            found = pd.to_numeric(text, errors="coerce")
        except TypeError:
            return None, text.iloc[0]
        parsed = found.to_numpy(dtype=np.float64, na_value=np.nan)
        strange = np.isnan(parsed)
        if strange.any():
            return None, text.iloc[int(np.argmax(strange))]
    return distinct.spread(parsed, np.nan), None


def as_truths(values: pd.Series) -> np.ndarray | None:
    """Reads a column of true and false, 1 and 0 as float64 [n]; None if it holds anything else."""
    words = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}
    distinct = find_distinct(values)
    found = [words.get(str(value).strip().lower()) for value in distinct.values]
    if None in found:
        return None
    return distinct.spread(np.array(found, dtype=np.float64), np.nan)


def check_finite(numbers: np.ndarray, name: str) -> None:
    """Complains about infinite numbers, and about numbers too large for float32.

    Raises:
        DataError: There is such a number.
    """
    # Two passes without a temporary array; infinities are among the extremes.
    if len(numbers) and not (numbers.min() >= -_LARGEST and numbers.max() <= _LARGEST):
        raise DataError(
            f"column '{name}' holds infinite values or values too large for a network; "
            "correct them or leave them empty"
        )
