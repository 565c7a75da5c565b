"""Rows of a text file that have too many fields."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from meritnas.data.files.separator import numbered_rows
from meritnas.errors import DataError
from meritnas.wording import listed

_Row = tuple[int, list[str]]


@dataclass(frozen=True)
class MendedRows:
    """A text table in which no row has more fields than the header.

    Attributes:
        header: Names of the columns; "" for row names that had none.
        content: The table anew, with commas, in UTF-8.
        skipped: How many rows had too many fields and were left out.
    """

    header: list[str]
    content: bytes
    skipped: int


def mend_wide_rows(
    content: bytes, separator: str | None, path: Path, *, skip_bad_rows: bool
) -> MendedRows:
    """Makes sense of a table in which rows have more fields than the header.

    Empty fields at the end of a row are cut off. If all rows have one field more and begin with
    what looks like row names (as R writes them), the first column is that. Other rows are bad.

    Args:
        content: The table in UTF-8.
        separator: What separates its fields.
        path: The file, for errors.
        skip_bad_rows: Whether bad rows are left out.

    Raises:
        DataError: There are bad rows that are not to be left out, or no others.
    """
    text = content.decode()
    if text.count('"') % 2:
        raise DataError(f"{path} is not a well-formed table; check its quotes, one is left open")
    try:
        (_, header), *rows = numbered_rows(text, separator)
    except csv.Error as error:
        raise DataError(f"{path} is not a well-formed table ({error}); check its quotes") from error
    if _have_row_names(len(header), rows, text):
        header = ["", *header]
    width = len(header)
    rows = [(line, _cut(fields, width)) for line, fields in rows]
    bad = [(line, fields) for line, fields in rows if len(fields) > width]
    if bad and (not skip_bad_rows or len(bad) == len(rows)):
        raise _too_many_fields(path, bad, width)
    good = [fields for _, fields in rows if len(fields) <= width]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *good])
    return MendedRows(header, stream.getvalue().encode(), len(bad))


def _cut(fields: list[str], width: int) -> list[str]:
    return fields if any(field.strip() for field in fields[width:]) else fields[:width]


def _have_row_names(width: int, rows: list[_Row], text: str) -> bool:
    """Whether every row begins with a name that the header does not know of."""
    if any(len(fields) != width + 1 for _, fields in rows):
        return False
    if not any(fields[-1].strip() for _, fields in rows):  # only a separator at the end
        return False
    names = [fields[0].strip() for _, fields in rows]
    if len(set(names)) < len(names):
        return False
    # One row alone counts nothing.
    counted = len(names) > 1 and any(
        names == [str(first + k) for k in range(len(names))] for first in (0, 1)
    )
    quoted = text.splitlines()[rows[0][0] - 1].lstrip().startswith('"')
    return counted or quoted


def _too_many_fields(path: Path, bad: list[_Row], width: int) -> DataError:
    line, fields = bad[0]
    others = ""
    if len(bad) > 1:
        lines = listed((line for line, _ in bad), most=5)
        others = f" ({len(bad):,} rows have too many, in lines {lines})"
    return DataError(
        f"line {line} of {path} has {len(fields)} fields but the header has {width}{others}; "
        "correct the file, put values that hold the separator in double quotes, or leave "
        "such rows out of a search with --skip-bad-rows"
    )
