"""Columns read as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.cells import number_of
from meritnas.data.columns.distinct import Distinct, find_distinct


def as_numbers(values: pd.Series) -> tuple[np.ndarray | None, object]:
    """Reads a column as float64 [n], not to be changed, with NaN for missing values.

    Times and durations become seconds.

    Returns:
        The numbers and None, or None and the first value that is not a number.
    """
    typed = typed_numbers(values)
    return distinct_numbers(find_distinct(values)) if typed is None else (typed, None)


def typed_numbers(values: pd.Series) -> np.ndarray | None:
    """Reads a column as `as_numbers` does if its type says that it holds numbers, else None."""
    kind = values.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return values.to_numpy().astype(np.float64, copy=False)
    if types.is_numeric_dtype(kind):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_datetime64_any_dtype(kind):
        epoch = pd.Timestamp(0, tz=getattr(kind, "tz", None))
        return ((values - epoch) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64)
    if types.is_timedelta64_dtype(kind):
        return (values / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64)
    return None


def distinct_numbers(distinct: Distinct) -> tuple[np.ndarray | None, object]:
    """Reads a column as `as_numbers` does, by its different values."""
    # Where one value of the first few is no number the many others need not be tried.
    for few in (distinct.values[:20], distinct.values):
        parsed = np.array([number_of(value) for value in few], dtype=np.float64)
        strange = np.isnan(parsed)
        if strange.any():
            return None, few[int(np.argmax(strange))]
    return distinct.spread(parsed, np.nan), None


def parse_numbers(values: pd.Series) -> np.ndarray:
    """Reads objects as float64 [n]: NaN for what is no number, infinite for what is too large."""
    return np.array([number_of(value) for value in values], dtype=np.float64)
