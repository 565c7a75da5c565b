"""A table file of any format as a frame."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from meritnas.data.columns.decimal_marks import Mark
from meritnas.data.files.clean_cells import MISSING, tidy_table
from meritnas.data.files.parquet import read_parquet
from meritnas.data.files.parquet_table import PARQUET_ENDINGS, is_parquet, read_parquet_folder
from meritnas.data.files.plain_file import check_plain_file
from meritnas.data.files.text_table import read_text_table
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB

__all__ = ["MISSING", "read_table"]

_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".data")


def read_table(
    path: Path,
    skip_bad_rows: bool = False,
    decimal: Mark | None = None,
    max_unpacked_mb: int = MAX_UNPACKED_MB,
    as_written: bool = False,
) -> pd.DataFrame:
    """Reads a table from a text file (any separator, optionally gzipped) or parquet files.

    Names and text values come without surrounding blanks, and the usual spellings of a missing
    value (see `MISSING`) are missing in the frame. Names that occur twice become a, a.1, a.2.

    Args:
        path: A file ending in .csv, .tsv, .txt or .data, each optionally .gz, or .parquet or .pq;
            or a folder of the latter, which are one table.
        skip_bad_rows: Whether to leave out rows with more fields than the header; how many
            there were is in `frame.attrs["skipped_rows"]`.
        decimal: The decimal mark of numbers where the file itself does not tell (1,234 or 1.234);
            which one was found is in `frame.attrs["decimal"]`.
        max_unpacked_mb: How many megabytes the file may unpack to.
        as_written: Whether cells of a text file stay the text that they are.

    Raises:
        DataError: The file does not exist, is not a table, has no rows, or unpacks to too much.
    """
    path = Path(path)
    if path.is_dir():
        if not is_parquet(path):
            raise DataError(f"{path} is a folder without Parquet files; name one table file in it")
        return tidy_table(read_parquet_folder(path, max_unpacked_mb))
    check_plain_file(path)
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        frame = tidy_table(read_parquet(path, max_unpacked_mb))
    elif name.removesuffix(".gz").endswith(_TEXT_ENDINGS):
        frame = read_text_table(
            path,
            skip_bad_rows=skip_bad_rows,
            decimal=decimal,
            max_unpacked_mb=max_unpacked_mb,
            as_written=as_written,
        )
    else:
        raise DataError(
            f"cannot tell the format of {path} by its ending; use one of "
            f"{', '.join(_TEXT_ENDINGS)} (or these with .gz), {', '.join(PARQUET_ENDINGS)}; to "
            "learn from a text, search with --space recurrent"
        )
    if len(frame) == 0:
        raise DataError(f"{path} has a header but no rows; a table needs data under its header")
    return frame
