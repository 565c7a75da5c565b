"""Texts and tables for the terminal that show what they are given, and obey nothing in it."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from meritnas.wording import visible


def plain(text: str, style: str = "") -> Text:
    """A text as it is: no markup in it counts, and what would not be seen is written out."""
    return Text(visible(text), style=style)


class PlainTable(Table):
    """A table whose headings and cells are plain texts.

    Args:
        title: above it.
        header: whether columns have headings.
    """

    def __init__(self, title: str = "", *, header: bool = True) -> None:
        super().__init__(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            show_header=header,
            title=plain(title, "table.title") if title else None,
        )

    def add_column(self, header: Any = "", *others: Any, **more: Any) -> None:
        """One more column, whose heading is as it is."""
        super().add_column(_shown(header), *others, **more)

    def add_row(self, *cells: Any, **more: Any) -> None:
        """One more row, whose cells are as they are; a Text has its own style."""
        super().add_row(*map(_shown, cells), **more)

    def say_below(self, text: str) -> None:
        """What there is to say about all of it."""
        self.caption = plain(text, "table.caption")


def _shown(cell: Any) -> Any:
    return plain(cell) if isinstance(cell, str) else cell
