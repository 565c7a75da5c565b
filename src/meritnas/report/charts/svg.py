"""SVG elements as text, and the numbers beside an axis: what all charts are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Self, TypeVar

Point = TypeVar("Point")

COLOURS = 8
"""Series beyond this number get the colours of the first again; a style sheet has them."""

LETTER = 8.6
"""How wide a letter of a chart is where it is largest, on a phone, in the chart's units."""

NARROW_LETTER = 7.2
"""How wide it is elsewhere: on a screen that shows a chart in its size, and in a file."""


class Picture(str):
    """An SVG element as text that knows how large it is, in its own units."""

    width: float
    height: float

    def __new__(cls, markup: str, width: float, height: float) -> Self:
        """Text that is `width` wide and `height` high."""
        made = super().__new__(cls, markup)
        made.width, made.height = width, height
        return made


def svg(
    title: str,
    width: float,
    height: float,
    parts: Sequence[str],
    kind: str = "",
    least: float = 0.0,
    role: str = "img",
) -> Picture:
    """A picture whose colours are those of the page, by the classes of its parts.

    Args:
        title: what it shows, for those who cannot see it.
        width: in its own units; on a page it is scaled.
        height: in its own units.
        parts: elements as text.
        kind: a further class.
        least: pixels that it is wide at least; a narrower box scrolls.
        role: `group` where its parts are to be read, too, and not its title alone.
    """
    narrow = f";min-width:{least:.0f}px" if least else ""
    markup = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind or "chart"}" role="{role}" '
        f'viewBox="0 0 {width:g} {height:g}" style="max-width:{width * 1.35:.0f}px{narrow}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
    return Picture(markup, width, height)


def text(x: float, y: float, content: str, kind: str = "tick", anchor: str = "middle") -> str:
    """A line of text; `anchor` is start, middle or end."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(content)}</text>"
    )


def text_inside(x: float, y: float, content: str, width: float, kind: str = "tick") -> str:
    """A line of text around x, or as near to it as a picture so wide has room for it."""
    half = LETTER * len(content) / 2 + 1
    return text(max(half, min(width - half, x)), y, content, kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> str:
    """A box, with words that appear above it."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" '
        f'height="{max(0.0, height):.1f}" rx="3">{inner}</rect>'
    )


def group(kind: str, parts: Sequence[str]) -> str:
    """Elements that have a class together."""
    return f'<g class="{kind}">{"".join(parts)}</g>'


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers from low to high, about so many."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A number beside an axis."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.2g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".") if value != int(value) else f"{int(value):,}"


def thinned(points: Sequence[Point], most: int = 240) -> list[Point]:
    """At most so many of the points, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(k * (len(points) - 1) / (most - 1))] for k in range(most)]
