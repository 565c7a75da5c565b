"""What was decided about the columns of a table, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from meritnas.report.terminal.plain import PlainTable, plain
from meritnas.wording import visible_line

_STYLES = {"target": "bold", "left out": "dim"}


def columns_table(rows: Iterable[tuple[str, str, str]]) -> PlainTable:
    """What was decided about the columns of a table: (column, taken as, details) a row."""
    table = PlainTable()
    table.add_column("column", overflow="fold")
    table.add_column("taken as", no_wrap=True)
    table.add_column("details", overflow="fold")
    for row in rows:
        style = _STYLES.get(row[1], "")
        table.add_row(*(plain(visible_line(cell), style) for cell in row))
    return table
