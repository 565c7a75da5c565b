"""Tables in text files, read with the standard library alone."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from pathlib import Path

from meritnas.data.columns.cells import number_of
from meritnas.data.columns.decimal_marks import Mark, find_marks, is_grouped, plain_number
from meritnas.data.columns.names import tidy_names
from meritnas.data.files.clean_cells import MISSING
from meritnas.data.files.encoding import plain_utf8
from meritnas.data.files.plain_file import read_plain_file
from meritnas.data.files.separator import find_separator, head_of, numbered_rows
from meritnas.data.files.wide_rows import mend_wide_rows
from meritnas.errors import DataError

_ONE_COLUMN = "\x1f"
"""Separates the fields of a table of one column: no text holds it."""

_PARQUET = b"PAR1"
"""How such files begin."""

_TRUTHS = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def read_table_file(path: Path, known: Mark | None) -> dict[str, list[object]]:
    """The cells of a text file with a header, whatever separates its fields.

    Cells come without blanks around them and None where they are missing; numbers with decimal
    commas, or with marks between thousands, are numbers.

    Args:
        path: The file; perhaps gzipped.
        known: The decimal mark of the file that the network was trained on.

    Raises:
        DataError: The file is not a table.
    """
    content = read_plain_file(path)
    name = path.name.lower()
    if name.endswith((".parquet", ".pq")) or content.startswith(_PARQUET):
        raise DataError(f"{path} is a parquet file, which is not read here; save it as CSV")
    content = plain_utf8(gzip.decompress(content) if name.endswith(".gz") else content, path)
    if not content or content.isspace():
        raise DataError(f"{path} is empty; a table needs a header and rows")
    separator = find_separator(head_of(content))
    (header, *rows) = _rows(content, separator, path)
    if any(len(row) > len(header) for row in rows):
        mended = mend_wide_rows(content, separator, path, skip_bad_rows=False)
        (header, *rows) = _rows(mended.content, ",", path)
    if not rows:
        raise DataError(f"{path} has a header but no rows; a table needs data under its header")
    columns = [
        [_text(row[place]) if place < len(row) else None for row in rows]
        for place in range(len(header))
    ]
    return dict(zip(tidy_names(header), _as_cells(columns, separator, known), strict=True))


def _rows(content: bytes, separator: str | None, path: Path) -> list[list[str]]:
    try:
        text = content.decode()
        return [fields for _, fields in numbered_rows(text, separator or _ONE_COLUMN)]
    except csv.Error as error:
        raise DataError(f"{path} is not a well-formed table ({error}); check its quotes") from error


def _text(field: str) -> str | None:
    stripped = field.strip()
    return None if stripped in MISSING else stripped


def _as_cells(
    columns: list[list[str | None]], separator: str | None, known: Mark | None
) -> list[list[object]]:
    """Texts, or truths and numbers where all of a column are these."""
    texts = [[cell for cell in column if cell is not None] for column in columns]
    commas = {place: own for place, own in enumerate(texts) if any("," in text for text in own)}
    floats = [place for place, own in enumerate(texts) if _are_fractions(own, columns[place])]
    mark, marks = find_marks(commas, lambda: [texts[place] for place in floats], separator, known)
    if mark == ",":
        marks |= {place: "," for place in floats if is_grouped(texts[place])}
    return [_converted(column, marks.get(place)) for place, column in enumerate(columns)]


def _are_fractions(texts: Sequence[str], column: Sequence[str | None]) -> bool:
    """Whether a column is numbers, of which one is not whole or is missing."""
    numbers = all(number_of(text) == number_of(text) for text in texts)
    return numbers and (len(texts) < len(column) or not all(map(_WHOLE.fullmatch, texts)))


def _converted(column: Sequence[str | None], mark: Mark | None) -> list[object]:
    if mark is not None:
        return [None if cell is None else float(plain_number(cell, mark)) for cell in column]
    if all(cell is None or cell in _TRUTHS for cell in column):
        return [None if cell is None else _TRUTHS[cell] for cell in column]
    return list(column)
