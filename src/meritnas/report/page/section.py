"""What a run's page is made of: sections with figures and tables."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.report.charts.figure import Figure


@dataclass(frozen=True)
class Table:
    """Rows of text below a head; rows in `marked` are highlighted."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: tuple[int, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of a run's page; what is empty is not shown.

    Attributes:
        name: its id on the page.
        title: its heading.
        lead: a sentence or two.
        facts: (name, value) pairs.
        figures: pictures, side by side where there is room.
        folded: pictures that are shown on demand.
        table: numbers.
        items: a list of sentences.
        code: something to copy.
        small: whether pictures are small ones.
    """

    name: str
    title: str
    lead: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[Figure, ...] = ()
    folded: tuple[Figure, ...] = ()
    table: Table | None = None
    items: tuple[str, ...] = ()
    code: str = ""
    small: bool = False
