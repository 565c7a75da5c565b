"""A table with a column to predict, before anything is learned from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from meritnas.data.files.loaded import Loaded, fingerprint, load_table
from meritnas.data.tables.target_numbers import with_target_numbers
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
    *,
    drop_missing_target: bool = False,
    task: str | None = None,
) -> Source:
    """Loads bundled data by name, a table file by path, or takes a frame as it is.

    Args:
        data: A bundled name, a path, or a frame. A bundled name wins over a file of that name;
            write ./digits for the file.
        target: The column to predict; None for the own target of bundled data.
        skip_bad_rows: Whether to leave out rows of a text file with too many fields.
        max_unpacked_mb: How many megabytes a file may unpack to.
        drop_missing_target: Whether to leave out rows without a target.
        task: "regression" where the target is to be a number, whatever it looks like.

    Raises:
        DataError: The data or the target cannot be found or used.
    """
    loaded = load_table(data, skip_bad_rows, max_unpacked_mb)
    chosen = loaded.target(target)
    if chosen is None:
        columns = listed(loaded.frame.columns)
        raise DataError(f"name the target column with --target; columns: {columns}")
    return source_of(loaded, chosen, drop_missing_target=drop_missing_target, task=task)


def source_of(
    loaded: Loaded, chosen: str, *, drop_missing_target: bool = False, task: str | None = None
) -> Source:
    """A table that is loaded, with the column to predict; see `load_source`."""
    frame, unit_note = with_target_numbers(loaded.frame, chosen, task)
    missing = frame[chosen].isna()
    count = int(missing.sum())
    if count and (not drop_missing_target or count == len(frame)):
        where = loaded.name if loaded.location is None else Path(loaded.location).name
        raise DataError(
            f"the target '{chosen}' is missing in {count} of {len(frame)} rows of {where}; "
            "drop these rows, or leave them out with --drop-missing-target"
        )
    skipped = frame.attrs.get("skipped_rows", 0)
    if count:
        frame = frame[~missing].reset_index(drop=True)
    told = (
        (skipped, f"{skipped:,} rows with too many fields are left out"),
        (unit_note, unit_note),
        (count, f"{count:,} rows without a '{chosen}' are left out"),
    )
    notes = tuple(text for so, text in told if so)
    return Source(loaded.name, frame, chosen, fingerprint(frame), loaded.location, notes)
