from __future__ import annotations

import csv
import io
import re

SPACES = r"\s+"

# In order of preference when two separators explain the file equally well: a tab hardly ever
# occurs inside a value, a comma often does, and spaces do nearly always.
_CANDIDATES = ("\t", ";", "|", ",", SPACES)
_SAMPLE_CHARACTERS = 100_000
_SAMPLE_LINES = 20


def find_separator(text: str) -> str | None:
    """Finds what separates the fields of a text table whose first line is the header.

    Returns:
        A single character, `SPACES` for runs of blanks, or None for a table of one column.
    """
    sample = _sample(text)
    best: str | None = None
    best_score = (False, False, 0.0, 0)
    for separator in _CANDIDATES:
        widths = [len(row) for row in split_rows_of(sample, separator)]
        if not widths or widths[0] < 2:
            continue
        body = widths[1:]
        agreeing = sum(width == widths[0] for width in body) / max(1, len(body))
        # Blanks occur in values of every kind of file, so they win only where nothing else fits.
        score = (agreeing >= 0.8, separator != SPACES, agreeing, widths[0])
        if best is None or score > best_score:
            best, best_score = separator, score
    return best


def split_rows_of(text: str, separator: str | None) -> list[list[str]]:
    """Splits text into rows of fields, leaving out blank lines and respecting double quotes."""
    if separator is None:
        return [[line] for line in text.splitlines() if line.strip()]
    if separator == SPACES:
        # Blanks within double quotes belong to the value.
        field = re.compile(r'(?:"[^"]*"|\S)+')
        return [field.findall(line) for line in text.splitlines() if line.strip()]
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    rows: list[list[str]] = []
    try:
        rows.extend(row for row in reader if row)
    except csv.Error:
        # An open quote swallows the rest of the sample; the rows before it still tell enough.
        return rows
    return rows


def first_rows(text: str, separator: str | None) -> list[list[str]]:
    """Returns the header and the first few rows of a text table as fields."""
    return split_rows_of(_sample(text), separator)


def _sample(text: str) -> str:
    lines: list[str] = []
    size = 0
    for line in io.StringIO(text):
        # A table of many thousand columns has lines beyond the limit: take some of them anyway.
        if size >= _SAMPLE_CHARACTERS and len(lines) >= _SAMPLE_LINES:
            break
        lines.append(line)
        size += len(line)
    return "".join(lines)
