"""What a user says about single columns of a table."""

from __future__ import annotations

from collections.abc import Iterable

from meritnas.data.tables.reading import OVERRIDES, TableReading
from meritnas.errors import DataError
from meritnas.wording import did_you_mean, listed

OF_GROUPS = "rows are split by its values, and those of new rows are others"
"""Why the column of `--split group=COLUMN` is no input."""


def asked_columns(reading: TableReading, columns: Iterable[str], target: str) -> dict[str, str]:
    """What each column that a user names is to be taken as, or why it is left out.

    Args:
        reading: What the user says.
        columns: Of the table.
        target: The one that is predicted.

    Raises:
        DataError: There is no such column, or it is the target.
    """
    inputs = [str(name) for name in columns if name != target]
    way, by = reading.split_by
    asked = {column: name for name in OVERRIDES for column in getattr(reading, name)}
    for column in (*asked, *([by] if by else [])):
        if column == target:
            raise DataError(f"the column '{column}' is the target; name others")
        if column not in inputs:
            raise DataError(
                f"no column '{column}';{did_you_mean(column, inputs)} columns besides the target: "
                f"{listed(inputs)}"
            )
    return {by: OF_GROUPS, **asked} if way == "group" else asked
