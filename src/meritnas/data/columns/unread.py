"""What to say about cells that are not what the rest of their column is."""

from __future__ import annotations


def unread_details(count: int, example: str) -> str:
    """For the list of columns; empty where there are none."""
    return f"; {_cells(count)} as missing, such as {example!r}" if count else ""


def unread_warning(name: str, count: int, example: str, kind: str) -> str | None:
    """A sentence, if there are any.

    Args:
        name: Of the column.
        count: How many cells.
        example: One of them.
        kind: What the others are: number, date.
    """
    if not count:
        return None
    if count == 1:
        return f"column '{name}': 1 value is no {kind}, {example!r}, and counts as missing"
    return (
        f"column '{name}': {count:,} values are no {kind}s, such as {example!r}, and count as "
        "missing"
    )


def _cells(count: int) -> str:
    return "1 cell counts" if count == 1 else f"{count:,} cells count"
