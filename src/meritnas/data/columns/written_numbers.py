"""Numbers that are written as text, with commas or points."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.distinct import Distinct, find_distinct

Mark = Literal[",", "."]

_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.\u00a0\u202f]\d{3})+)(,\d+)?([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})*|0)")


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
    texts = _columns_with_commas(frame)
    comma = {place for place, column in texts.items() if _all(_COMMA, column)}
    point = {place for place, column in texts.items() if _all(_POINT, column)}
    if separator == ",":
        comma &= point  # a quoted 1,5 may be anything
    floats = [place for place, kind in enumerate(frame.dtypes) if types.is_float_dtype(kind)]
    mark: Mark | None
    if comma - point:
        mark = ","
    elif point - comma:
        mark = "."
    else:
        mark = _by_points(floats, as_text, known, separator, undecided=bool(comma & point))
    for place in sorted(comma | point):
        fits_comma = place in comma and (place not in point or mark == ",")
        frame.isetitem(place, _numbers(texts[place], "," if fits_comma else "."))
    if mark == ",":
        _read_grouped(frame, floats, as_text)
    return mark


def _by_points(
    floats: list[int],
    as_text: Callable[[list[int]], pd.DataFrame],
    known: Mark | None,
    separator: str | None,
    *,
    undecided: bool,
) -> Mark | None:
    """Returns the decimal mark of a file where no comma tells."""
    if not undecided and known != ",":
        return None
    if floats and any(
        not _all(_GROUPED_BY_POINTS, find_distinct(values)) for _, values in as_text(floats).items()
    ):
        return "."
    if known is not None:
        return known
    return "," if separator == ";" else "."


def _columns_with_commas(frame: pd.DataFrame) -> dict[int, Distinct]:
    """Returns the text columns, by position, that may be numbers with commas."""
    found = {}
    for place, kind in enumerate(frame.dtypes):
        if types.is_numeric_dtype(kind):
            continue
        values = frame.iloc[:, place]
        # Most text is seen not to be numbers by a few values.
        few = [str(value) for value in values.iloc[:20].tolist() if not pd.isna(value)]
        if not all(_COMMA.fullmatch(text) or _POINT.fullmatch(text) for text in few):
            continue
        distinct = find_distinct(values)
        if any("," in str(value) for value in distinct.values):
            found[place] = distinct
    return found


def _all(pattern: re.Pattern[str], distinct: Distinct) -> bool:
    return all(pattern.fullmatch(str(value).strip()) for value in distinct.values)


def _numbers(distinct: Distinct, mark: Mark) -> pd.Series:
    grouping = re.compile("," if mark == "." else "[.\u00a0\u202f]")
    plain = [grouping.sub("", str(value).strip()).replace(",", ".") for value in distinct.values]
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
        if any("." in str(v) for v in distinct.values) and _all(_GROUPED_BY_POINTS, distinct):
            frame.isetitem(place, _numbers(distinct, ","))
