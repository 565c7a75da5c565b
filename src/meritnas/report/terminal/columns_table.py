"""What was decided about the columns of a table, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from meritnas.wording import visible

_STYLES = {"target": "bold", "left out": "dim"}


def columns_table(rows: Iterable[tuple[str, str, str]]) -> Table:
    """What was decided about the columns of a table: (column, taken as, details) a row."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("column", overflow="fold")
    table.add_column("taken as", no_wrap=True)
    table.add_column("details", overflow="fold")
    for row in rows:
        style = _STYLES.get(row[1], "")
        table.add_row(*(Text(visible(cell), style=style) for cell in row))
    return table
