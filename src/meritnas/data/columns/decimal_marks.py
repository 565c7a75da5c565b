"""Commas and points in numbers that are written as text; needs nothing, so that it may leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

Mark = Literal[",", "."]

COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.\u00a0\u202f]\d{3})+)(,\d+)?([eE][+-]?\d+)?")
"""A number with a decimal comma, perhaps."""

POINT = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?")
"""A number with a decimal point, perhaps."""

_GROUPED_BY_POINTS = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})*|0)")
_GROUPING = {".": re.compile(","), ",": re.compile("[.\u00a0\u202f]")}


def find_marks(
    commas: Mapping[int, Sequence[str]],
    floats: Callable[[], Iterable[Sequence[str]]],
    separator: str | None,
    known: Mark | None,
) -> tuple[Mark | None, dict[int, Mark]]:
    """Finds the decimal mark of a file, and of its columns with commas, where these are numbers.

    A column is numbers only if all of it can be read one way. Where 1,234 could be either, the
    other columns of the file decide, then what is known, then the separator: files separated by
    semicolons come from places where the comma is the decimal mark.

    Args:
        commas: The different texts of each column with commas, by position.
        floats: Gives the texts of each column that was taken for fractions.
        separator: What separates the fields of the file.
        known: The decimal mark of earlier files of the same kind.

    Returns:
        The decimal mark, None where nothing tells; and that of each column that is numbers.
    """
    comma = {place for place, texts in commas.items() if _all(COMMA, texts)}
    point = {place for place, texts in commas.items() if _all(POINT, texts)}
    if separator == ",":
        comma &= point  # a quoted 1,5 may be anything
    mark: Mark | None
    if comma - point:
        mark = ","
    elif point - comma:
        mark = "."
    else:
        mark = _by_points(floats, separator, known, undecided=bool(comma & point))
    columns: dict[int, Mark] = {}
    for place in sorted(comma | point):
        fits_comma = place in comma and (place not in point or mark == ",")
        columns[place] = "," if fits_comma else "."
    return mark, columns


def plain_number(text: str, mark: Mark) -> str:
    """A number as programs write it: without marks between thousands, with a decimal point."""
    return _GROUPING[mark].sub("", text.strip()).replace(",", ".")


def is_grouped(texts: Sequence[str]) -> bool:
    """Whether texts like 1.234, in a file with decimal commas, have points between thousands."""
    return any("." in text for text in texts) and _all(_GROUPED_BY_POINTS, texts)


def _by_points(
    floats: Callable[[], Iterable[Sequence[str]]],
    separator: str | None,
    known: Mark | None,
    *,
    undecided: bool,
) -> Mark | None:
    """Returns the decimal mark of a file where no comma tells."""
    if not undecided and known != ",":
        return None
    if any(not _all(_GROUPED_BY_POINTS, texts) for texts in floats()):
        return "."
    if known is not None:
        return known
    return "," if separator == ";" else "."


def _all(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    return all(pattern.fullmatch(text.strip()) for text in texts)
