"""Figures of a report by themselves: as an SVG file, and as an image on a page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from meritnas.errors import UsageError
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.figure_file import figure_file
from meritnas.store.checked_path import checked_path
from meritnas.store.whole_files import write_whole


@dataclass(frozen=True)
class RunFigure:
    """A figure of a run's report.

    Attributes:
        name: by which it is asked for.
        caption: what it shows.
        svg: the text of an .svg file, in light and dark colours.
    """

    name: str
    caption: str
    svg: str

    def save(self, path: str | Path) -> Path:
        """Write it to a file, which may be there already; returns its path.

        Raises:
            UsageError: The file's name does not end in .svg.
        """
        place = checked_path("path", path)
        if place.suffix.lower() != ".svg":
            raise UsageError(f"a figure is saved as SVG, got the name {place}; end it with .svg")
        write_whole(place, self.svg.encode("utf-8", "backslashreplace"))
        return place

    def __repr__(self) -> str:
        return f"<figure {self.name}: {self.caption}>"

    def _repr_html_(self) -> str:
        return image(self.svg, self.caption)


def drawn(figure: Figure) -> str:
    """A figure as the text of an .svg file."""
    return figure_file(figure.caption, [replace(figure, caption="")])


def image(svg: str, caption: str) -> str:
    """An .svg file as an image on a page, which changes nothing else there."""
    content = base64.b64encode(svg.encode("utf-8", "backslashreplace")).decode()
    return (
        f'<img alt="{escape(caption)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{content}">'
    )


def images(figures: Sequence[Figure]) -> str:
    """Figures of a page as images, one below the other."""
    return "".join(f"<div>{image(drawn(each), each.caption)}</div>" for each in figures if each.svg)
