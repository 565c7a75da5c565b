"""Cells of text files without what surrounds their values."""

from __future__ import annotations

import pandas as pd
from pandas.api import types

from meritnas.data.columns.names import tidy_names

MISSING = ("", "?", "NA", "NaN", "nan", "null", "None", "N/A")
"""The usual spellings of a missing value."""


def tidy_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a table without surrounding blanks in names and text, and missing where `MISSING`."""
    frame = frame.set_axis(tidy_names(frame.columns), axis=1)
    # One column after the other, so that the table is never in memory twice.
    for place, kind in enumerate(frame.dtypes):
        if types.is_object_dtype(kind) or types.is_string_dtype(kind):
            values = frame.iloc[:, place]
            tidy = tidy_text(values)
            if tidy is not values:
                frame.isetitem(place, tidy)
    return frame


def tidy_text(values: pd.Series) -> pd.Series:
    """The same of a column of text; numbers where it is all numbers but for missing ones."""
    if types.infer_dtype(values, skipna=True) != "string":
        return values
    stripped = values.str.strip()
    missing = stripped.isin(MISSING)
    if not missing.any():
        return stripped
    stripped = stripped.mask(missing)
    # "? " hid from the parser that the rest of the column are numbers.
    numbers = pd.to_numeric(stripped, errors="coerce")
    return numbers if numbers.notna().equals(stripped.notna()) else stripped
