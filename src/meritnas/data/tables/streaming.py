"""What cannot be asked of a table that is streamed."""

from __future__ import annotations

from meritnas.data.tables.reading import TableReading
from meritnas.errors import UsageError


def check_streamed(reading: TableReading) -> None:
    """Complain about what a table can be asked only where it is in memory.

    Raises:
        UsageError: It is asked.
    """
    way, column = reading.split_by
    if way == "time":
        raise UsageError(
            f"a table that is streamed is split at random or by group, and split is time={column}; "
            "read it into memory with --no-stream, or leave out split"
        )
    if reading.drop_missing_target:
        raise UsageError(
            "rows without a target cannot be left out of a table that is streamed; write one "
            "without them, or read it into memory with --no-stream"
        )
