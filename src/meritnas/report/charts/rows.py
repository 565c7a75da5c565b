"""What charts with a named row for each thing share: the axis below, the names to the left."""

from __future__ import annotations

from meritnas.report.charts.scale import Scale
from meritnas.report.charts.svg import LETTER, line, text_inside, tick_text


def row_axis(x: Scale, top: float, bottom: float, label: str, width: float) -> list[str]:
    """Grid lines from top to bottom, their numbers and what they are, in a picture so wide."""
    parts = []
    for value in x.ticks(max(2, min(4, round((x.end - x.start) / 50)))):
        parts.append(line(x(value), top, x(value), bottom, "grid"))
        parts.append(text_inside(x(value), bottom + 15, tick_text(value), width))
    parts.append(text_inside((x.start + x.end) / 2, bottom + 34, label, width, "label"))
    return parts


def names_width(names: list[str]) -> float:
    """How much room the names of rows take."""
    return 16.0 + LETTER * max(map(len, names))


def short_name(name: str, most: int = 25) -> str:
    """A name of at most so many letters; a longer one is cut."""
    return name if len(name) <= most else name[: most - 1] + "\u2026"
