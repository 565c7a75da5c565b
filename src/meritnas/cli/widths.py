"""Reads what was written after `--widths`."""

from __future__ import annotations

from meritnas.errors import UsageError


def parse_widths(text: str) -> list[int] | list[list[int]]:
    """The widths to choose from: "8,16,32" for every layer, "8,16;16,32" for each its own."""
    rows = [_parse_row(row, text) for row in text.split(";")]
    return rows if len(rows) > 1 else rows[0]


def _parse_row(row: str, whole: str) -> list[int]:
    try:
        return [int(width) for width in row.split(",")]
    except ValueError:
        raise UsageError(
            f"cannot read the widths '{whole}': '{row.strip()}' is no list of whole numbers; "
            'write "8,16,32", or a list for each layer: "8,16;16,32,64"'
        ) from None
