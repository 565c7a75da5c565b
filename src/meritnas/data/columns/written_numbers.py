"""Numbers that are written as text, with commas or points."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.decimal_marks import (
    COMMA,
    POINT,
    Mark,
    find_marks,
    is_grouped,
    plain_number,
)
from meritnas.data.columns.distinct import Distinct, find_distinct


def read_written_numbers(
    frame: pd.DataFrame,
    as_text: Callable[[list[int]], pd.DataFrame],
    separator: str | None,
    known: Mark | None,
) -> Mark | None:
    """Turns columns of numbers with commas in them, such as 1,5 or 1.234,5 or 1,234, into numbers.

    A column is turned only if all of it can be read one way. Where 1,234 could be either, the
    other columns of the file decide, then what is known, then the separator: files separated by
    semicolons come from places where the comma is the decimal mark. In a file with decimal commas,
    columns like 1.234 have points between thousands.

    Args:
        frame: A table as the parser read it; it is changed.
        as_text: Gives columns by position as the text they were in the file.
        separator: What separates the fields of the file.
        known: The decimal mark of earlier files of the same kind.

    Returns:
        The decimal mark, None where nothing tells.
    """
    distinct = _columns_with_commas(frame)
    floats = [place for place, kind in enumerate(frame.dtypes) if types.is_float_dtype(kind)]

    def written() -> Iterator[list[str]]:
        return (
            (_texts(find_distinct(c)) for _, c in as_text(floats).items()) if floats else iter(())
        )

    commas = {place: _texts(column) for place, column in distinct.items()}
    mark, columns = find_marks(commas, written, separator, known)
    for place, own in columns.items():
        frame.isetitem(place, _numbers(distinct[place], own))
    if mark == ",":
        _read_grouped(frame, floats, as_text)
    return mark


def _columns_with_commas(frame: pd.DataFrame) -> dict[int, Distinct]:
    """Returns the text columns, by position, that may be numbers with commas."""
    found = {}
    for place, kind in enumerate(frame.dtypes):
        if types.is_numeric_dtype(kind):
            continue
        values = frame.iloc[:, place]
        # Most text is seen not to be numbers by a few values.
        few = [str(value) for value in values.iloc[:20].tolist() if not pd.isna(value)]
        if not all(COMMA.fullmatch(text) or POINT.fullmatch(text) for text in few):
            continue
        distinct = find_distinct(values)
        if any("," in str(value) for value in distinct.values):
            found[place] = distinct
    return found


def _texts(distinct: Distinct) -> list[str]:
    return [str(value) for value in distinct.values]


def _numbers(distinct: Distinct, mark: Mark) -> pd.Series:
    plain = [plain_number(text, mark) for text in _texts(distinct)]
    numbers = pd.to_numeric(pd.Series(plain, dtype=object)).to_numpy()
    if (distinct.codes < 0).any():
        return pd.Series(distinct.spread(numbers.astype(np.float64), np.nan))
    return pd.Series(numbers[distinct.codes])


def _read_grouped(
    frame: pd.DataFrame, floats: list[int], as_text: Callable[[list[int]], pd.DataFrame]
) -> None:
    """Turns columns like 1.234, which the parser took for fractions, into thousands."""
    if not floats:
        return
    for place, (_, values) in zip(floats, as_text(floats).items(), strict=True):
        distinct = find_distinct(values)
        if is_grouped(_texts(distinct)):
            frame.isetitem(place, _numbers(distinct, ","))
