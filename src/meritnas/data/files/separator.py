"""What separates the fields of a text file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

SPACES = r"\s+"

# In order of preference when two separators explain the file equally well: a tab hardly ever
# occurs inside a value, a comma often does, and spaces do nearly always.
_CANDIDATES = ("\t", ";", "|", ",", SPACES)
_SAMPLE_BYTES = 100_000
_SAMPLE_LINES = 20
_MOST = 0.8
"""The share of rows that have as many fields as the header, where a separator explains them."""

# Blanks within double quotes belong to the value.
_SPACED_FIELD = re.compile(r'(?:"[^"]*"|\S)++')  # never to be given back: a field may be all of it


def find_separator(sample: str) -> str | None:
    """Finds what separates the fields of a text table whose first line is the header.

    Args:
        sample: The first lines.

    Returns:
        A single character, `SPACES` for runs of blanks, or None for a table of one column.
    """
    best: str | None = None
    best_score = (False, False, 0.0, 0)
    for separator in _CANDIDATES:
        widths = [len(row) for row in split_rows(sample, separator)]
        if not widths or widths[0] < 2:
            continue
        agreeing = _agreeing(widths)
        # Blanks occur in values of every kind of file, so they win only where nothing else fits.
        score = (agreeing >= _MOST, separator != SPACES, agreeing, widths[0])
        if best is None or score > best_score:
            best, best_score = separator, score
    return best


def splits_alike(sample: str, separator: str | None) -> bool:
    """Whether most rows have as many fields as the first one, which has several."""
    widths = [len(row) for row in split_rows(sample, separator)]
    return len(widths) > 1 and widths[0] > 1 and _agreeing(widths) >= _MOST


def _agreeing(widths: list[int]) -> float:
    """The share of rows that have as many fields as the header."""
    body = widths[1:]
    # Rows may have one field more than the header: row names, or a separator at the end.
    return max(
        sum(width == wanted for width in body) / max(1, len(body))
        for wanted in (widths[0], widths[0] + 1)
    )


def split_rows(text: str, separator: str | None) -> list[list[str]]:
    """Splits text into rows of fields, leaving out blank lines and respecting double quotes."""
    rows: list[list[str]] = []
    try:
        rows.extend(fields for _, fields in numbered_rows(text, separator))
    except csv.Error:
        # An open quote swallows the rest of the sample; the rows before it still tell enough.
        return rows
    return rows


def numbered_rows(text: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    """Splits text like `split_rows`, and tells the line that each row begins in, from 1."""
    if separator is None or separator == SPACES:
        for number, line in enumerate(io.StringIO(text), 1):
            if line.strip():
                yield number, [line.strip()] if separator is None else _spaced(line)
        return
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    begin = 1
    with _fields_of_any_length(text):
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield begin, row
            begin = reader.line_num + 1


@contextmanager
def _fields_of_any_length(text: str) -> Iterator[None]:
    """Lets Python's reader take long fields, of which it would complain, for as long as need be."""
    before = csv.field_size_limit(len(text) + 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def head_of(content: bytes) -> str:
    """Returns the first lines of a text in UTF-8, enough to see how it is written."""
    lines: list[bytes] = []
    size = told = 0
    for line in io.BytesIO(content):
        # A table of many thousand columns has lines beyond the limit: take some of them anyway.
        if size >= _SAMPLE_BYTES and told >= _SAMPLE_LINES:
            break
        lines.append(line)
        if not line.isspace():  # of blank lines there may be any number
            size, told = size + len(line), told + 1
    return b"".join(lines).decode()


def _spaced(line: str) -> list[str]:
    fields = _SPACED_FIELD.findall(line)
    return [
        field[1:-1] if len(field) > 1 and field[0] == field[-1] == '"' else field
        for field in fields
    ]
