"""A chart with its caption and its legend, as pages and figure files show it."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.report.charts.lines import Series
from meritnas.report.charts.svg import Picture


@dataclass(frozen=True)
class Figure:
    """A chart with what is written around it.

    Attributes:
        svg: the chart.
        caption: what it is.
        legend: the lines that it explains.
        wide: whether it has a line of its own on a page, and scrolls where that is too narrow.
        words: what there is to say instead of a chart, which is empty then.
    """

    svg: Picture
    caption: str = ""
    legend: tuple[Series, ...] = ()
    wide: bool = False
    words: str = ""

    @staticmethod
    def of_words(words: str, caption: str = "") -> Figure:
        """What is no chart, in words."""
        return Figure(Picture("", 0.0, 0.0), caption, words=words)
