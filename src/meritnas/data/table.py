from __future__ import annotations

import gzip
import io
import re
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from meritnas.data.separator import find_separator, first_rows
from meritnas.errors import DataError

MISSING = ("", "?", "NA", "NaN", "nan", "null", "None", "N/A")

_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".data")
_PARQUET_ENDINGS = (".parquet", ".pq")


def read_table(path: Path) -> pd.DataFrame:
    """Reads a table from a text file (any separator, optionally gzipped) or a parquet file.

    Names and text values come without surrounding blanks, and the usual spellings of a missing
    value (see `MISSING`) are missing in the frame.

    Args:
        path: A file ending in .csv, .tsv, .txt or .data, each optionally .gz, or .parquet or .pq.

    Raises:
        DataError: The file does not exist, is not a table, or has no rows.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder; name one table file in it")
    if not path.exists():
        raise DataError(f"no file {path}; check the path")
    name = path.name.lower()
    if name.endswith(_PARQUET_ENDINGS):
        frame = _read_parquet(path)
    elif name.removesuffix(".gz").endswith(_TEXT_ENDINGS):
        frame = _read_text(path)
    else:
        raise DataError(
            f"cannot tell the format of {path} by its ending; use one of "
            f"{', '.join(_TEXT_ENDINGS)} (or these with .gz), {', '.join(_PARQUET_ENDINGS)}"
        )
    if len(frame) == 0:
        raise DataError(f"{path} has a header but no rows; a table needs data under its header")
    return _tidy(frame)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"{path} is not a readable parquet file ({error}); write it anew"
        ) from error
    named = any(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named)


def _read_text(path: Path) -> pd.DataFrame:
    text = _decode(_read_bytes(path), path)
    if not text.strip():
        raise DataError(f"{path} is empty; a table needs a header and rows")
    separator = find_separator(text)
    head = first_rows(text, separator)
    if len(head) < 2:
        raise DataError(f"{path} has a header but no rows; a table needs data under its header")
    # The parser takes a wider first row for one with row names, so this row is checked here.
    if len(head[1]) > len(head[0]):
        raise _too_many_fields(path, _second_line(text), len(head[1]), len(head[0]))
    try:
        return pd.read_csv(
            io.StringIO(text),
            # A table of one column: a separator that no text holds.
            sep=separator or "\x1f",
            skipinitialspace=True,
            index_col=False,
            keep_default_na=False,
            na_values=list(MISSING),
            low_memory=False,
        )
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if found is None:
            raise DataError(
                f"{path} is not a well-formed table ({str(error).strip()}); check its quotes"
            ) from error
        expected, line, saw = (int(number) for number in found.groups())
        raise _too_many_fields(path, line, saw, expected) from error


def _too_many_fields(path: Path, line: int, saw: int, expected: int) -> DataError:
    return DataError(
        f"line {line} of {path} has {saw} fields but the header has {expected}; "
        "correct the line, or put values that hold the separator in double quotes"
    )


def _second_line(text: str) -> int:
    """Returns the number, from 1, of the second line that is not blank."""
    filled = [number for number, line in enumerate(io.StringIO(text), 1) if line.strip()]
    return filled[1]


def _read_bytes(path: Path) -> bytes:
    try:
        if path.name.lower().endswith(".gz"):
            with gzip.open(path, "rb") as stream:
                return stream.read()
        return path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}); fetch it anew") from error
    except OSError as error:
        raise DataError(f"cannot read {path} ({error}); check its permissions") from error


def _decode(content: bytes, path: Path) -> str:
    head = np.frombuffer(content[:100_000], dtype=np.uint8)
    control = (head < 32) & ~np.isin(head, np.frombuffer(b"\t\n\r\f", dtype=np.uint8))
    # Stray control characters occur in exported text, a hundredth of them only in binary files.
    if b"\x00" in content or control.sum() > 0.01 * len(head):
        raise DataError(f"{path} is binary, not a text table; save it as UTF-8 text or parquet")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _tidy(frame: pd.DataFrame) -> pd.DataFrame:
    columns = {}
    for position, name in enumerate(_unique([str(column).strip() for column in frame.columns])):
        values = frame.iloc[:, position]
        if pd.api.types.is_object_dtype(values) or pd.api.types.is_string_dtype(values):
            values = _tidy_text(values)
        columns[name] = values
    return pd.DataFrame(columns)


def _tidy_text(values: pd.Series) -> pd.Series:
    if pd.api.types.infer_dtype(values, skipna=True) != "string":
        return values
    stripped = values.str.strip()
    missing = stripped.isin(MISSING)
    if not missing.any():
        return stripped
    stripped = stripped.mask(missing)
    # "? " hid from the parser that the rest of the column are numbers.
    numbers = pd.to_numeric(stripped, errors="coerce")
    return numbers if numbers.notna().equals(stripped.notna()) else stripped


def _unique(names: list[str]) -> list[str]:
    """Makes names unique the way pandas does: a, a.1, a.2."""
    taken: set[str] = set()
    result = []
    for name in names:
        candidate, count = name, 0
        while candidate in taken:
            count += 1
            candidate = f"{name}.{count}"
        taken.add(candidate)
        result.append(candidate)
    return result
