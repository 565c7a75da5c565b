"""Tables in text files: CSV, TSV and the like."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from meritnas.data.columns.decimal_marks import Mark
from meritnas.data.columns.names import tidy_names
from meritnas.data.columns.written_numbers import read_written_numbers
from meritnas.data.files.clean_cells import MISSING, tidy_table
from meritnas.data.files.encoding import read_utf8
from meritnas.data.files.prose import is_prose
from meritnas.data.files.separator import find_separator, head_of, split_rows
from meritnas.data.files.wide_rows import mend_wide_rows
from meritnas.errors import DataError

_TEXT_ENDING = ".txt"
_CELL = 8
"""Bytes of a cell in memory."""


def read_text_table(
    path: Path,
    *,
    skip_bad_rows: bool,
    decimal: Mark | None,
    max_unpacked_mb: int,
    as_written: bool = False,
) -> pd.DataFrame:
    """Reads a text file with a header, whatever separates its fields.

    Args:
        path: The file, perhaps gzipped.
        skip_bad_rows: Whether rows with too many fields are left out.
        decimal: The decimal mark where the file does not tell.
        max_unpacked_mb: How many megabytes the file may unpack to.
        as_written: Whether all cells stay the text that they are.

    Returns:
        The table; `attrs` has "decimal", the decimal mark found, and "skipped_rows".

    Raises:
        DataError: The file is not a table.
    """
    content = read_utf8(path, max_unpacked_mb)
    if not content or content.isspace():
        raise DataError(f"{path} is empty; a table needs a header and rows")
    sample = head_of(content)
    if path.name.lower().removesuffix(".gz").endswith(_TEXT_ENDING) and is_prose(sample):
        raise DataError(
            f"{path} reads like a text, not like a table: nothing splits its lines into equally "
            "many fields; to learn from a text, search with --space recurrent"
        )
    separator = find_separator(sample)
    head = split_rows(sample, separator)
    if len(head) < 2:
        raise DataError(f"{path} has a header but no rows; a table needs data under its header")
    _check_cells(content, len(head[0]), path, max_unpacked_mb)
    parser = _Parser(path, content, separator, head[0], as_written)
    # The parser takes a wider first row for one with row names, so this row is checked here.
    frame = parser.read() if len(head[1]) <= len(head[0]) else None
    skipped = 0
    if frame is None:
        mended = mend_wide_rows(content, separator, path, skip_bad_rows=skip_bad_rows)
        skipped = mended.skipped
        parser = _Parser(path, mended.content, ",", mended.header, as_written)
        frame = parser.read()
        if frame is None:
            raise DataError(f"{path} is not a well-formed table; check its quotes")
    if as_written:
        return frame
    frame = tidy_table(frame)
    mark = read_written_numbers(frame, parser.read_as_text, separator, decimal)
    frame.attrs.update(decimal=mark, skipped_rows=skipped)
    return frame


def _check_cells(content: bytes, columns: int, path: Path, max_unpacked_mb: int) -> None:
    """Complains about rows that are much shorter than the header: what they lack takes memory."""
    lines = content.count(b"\n")
    # In rows as long as the header, every cell has a byte at least.
    short = columns * lines > len(content)
    if short and columns * lines * _CELL > max_unpacked_mb * 1_000_000:
        raise DataError(
            f"{path} has {columns:,} names in its header and {lines:,} much shorter lines; as a "
            f"table it takes more than {max_unpacked_mb:,} MB: correct the header, or give a "
            "larger max_unpacked_mb (--max-unpacked-mb on the line)"
        )


@dataclass(frozen=True)
class _Parser:
    """Reads a text in UTF-8 whose separator and header are known."""

    path: Path
    content: bytes
    separator: str | None
    header: list[str]
    as_written: bool = False

    def read(self) -> pd.DataFrame | None:
        """Returns the table, None if a row has more fields than the header."""
        try:
            with warnings.catch_warnings():
                # It would leave out fields of rows that begin in quotes of several lines.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                return self._read()
        except pd.errors.ParserWarning:
            return None
        except pd.errors.ParserError as error:
            if "Expected" in str(error):
                return None
            raise DataError(
                f"{self.path} is not a well-formed table ({str(error).strip()}); check its quotes"
            ) from error

    def read_as_text(self, places: list[int]) -> pd.DataFrame:
        """Returns some of the columns, by position, as they are written."""
        return self._read(usecols=places, dtype=str)

    def _read(self, **options: Any) -> pd.DataFrame:
        if self.as_written:
            options |= {"dtype": str, "na_filter": False}
        return pd.read_csv(
            io.BytesIO(self.content),
            # A table of one column: a separator that no text holds.
            sep=self.separator or "\x1f",
            header=0,
            names=tidy_names(self.header),
            skipinitialspace=True,
            index_col=False,
            keep_default_na=False,
            na_values=list(MISSING),
            low_memory=False,
            **options,
        )
