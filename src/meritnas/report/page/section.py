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
class Shown:
    """Pictures of the data, side by side, with what is to be said about them.

    Attributes:
        pictures: (name, PNG file in base64) pairs.
        words: below them.
    """

    pictures: tuple[tuple[str, str], ...]
    words: str


@dataclass(frozen=True)
class Tile:
    """A number that is read first.

    Attributes:
        name: what it is.
        value: it, as text.
        note: what it is to be compared with, or where it comes from.
    """

    name: str
    value: str
    note: str = ""


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
        network: the text of a network, line by line, which is never broken.
        tiles: numbers that are read first.
        pictures: of the data.
        half: whether it stands beside another one where there is room.
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
    network: str = ""
    tiles: tuple[Tile, ...] = ()
    pictures: tuple[Shown, ...] = ()
    half: bool = False
