"""A table with a column to predict, before anything is learned from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from meritnas.data.files.loaded import fingerprint, load_table
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import listed


@dataclass(frozen=True)
class Source:
    """A table and the column to predict, before anything is learned from it.

    Attributes:
        name: Short name for reports.
        frame: All rows, including the target column.
        target: Name of the column to predict.
        fingerprint: SHA-256 over the column names and values, in hex.
        location: Absolute path of a file, the name of bundled data, None for a frame.
        notes: What a user should know about how the table was read, a sentence each.
    """

    name: str
    frame: pd.DataFrame
    target: str
    fingerprint: str
    location: str | None
    notes: tuple[str, ...] = ()


def load_source(
    data: str | Path | pd.DataFrame,
    target: str | None,
    skip_bad_rows: bool = False,
    max_unpacked_mb: int = MAX_UNPACKED_MB,
) -> Source:
    """Loads bundled data by name, a table file by path, or takes a frame as it is.

    Args:
        data: A bundled name, a path, or a frame. A bundled name wins over a file of that name;
            write ./digits for the file.
        target: The column to predict; None for the own target of bundled data.
        skip_bad_rows: Whether to leave out rows of a text file with too many fields.
        max_unpacked_mb: How many megabytes a file may unpack to.

    Raises:
        DataError: The data or the target cannot be found or used.
    """
    loaded = load_table(data, skip_bad_rows, max_unpacked_mb)
    chosen = loaded.target(target)
    frame = loaded.frame
    if chosen is None:
        raise DataError(f"name the target column with --target; columns: {listed(frame.columns)}")
    missing = int(frame[chosen].isna().sum())
    if missing:
        where = loaded.name if loaded.location is None else Path(loaded.location).name
        raise DataError(
            f"the target '{chosen}' is missing in {missing} of {len(frame)} rows of {where}; "
            "drop these rows"
        )
    skipped = frame.attrs.get("skipped_rows", 0)
    notes = (f"{skipped:,} rows with too many fields are left out",) if skipped else ()
    return Source(loaded.name, frame, chosen, fingerprint(frame), loaded.location, notes)
