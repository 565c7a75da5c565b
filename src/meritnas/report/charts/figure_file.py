"""Figures as one SVG file that needs nothing but itself, in light and dark colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from meritnas.report.charts.figure import Figure
from meritnas.report.charts.svg import NARROW_LETTER, Picture, text

_EDGE, _BETWEEN, _HEADING, _CAPTION, _LEGEND_LINE = 16.0, 24.0, 34.0, 22.0, 18.0
_SYMBOL = 32.0
_FONT = 'svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }\n'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def figure_file(title: str, figures: Sequence[Figure], columns: int = 2) -> str:
    """The text of an .svg file with a heading and figures, side by side in so many columns."""
    parts = [text(_EDGE, _EDGE + 14, title, "heading", "start")]
    y = _EDGE + _HEADING
    right = _EDGE + 1.5 * NARROW_LETTER * len(title)
    for start in range(0, len(figures), columns):
        x, bottom = _EDGE, y
        for figure in figures[start : start + columns]:
            shown, height = _panel(figure, x, y)
            parts += shown
            x, bottom = x + figure.svg.width + _BETWEEN, max(bottom, y + height)
        right, y = max(right, x - _BETWEEN), bottom + _BETWEEN
    width, height = right + _EDGE, y - _BETWEEN + _EDGE
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="file" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" style="max-width:100%;height:auto">'
        f"<title>{escape(title)}</title><style>{_style()}</style>"
        f'<rect class="paper" width="{width:g}" height="{height:g}"/>{"".join(parts)}</svg>\n'
    )
    return _NOT_XML.sub("\ufffd", drawn)


def _panel(figure: Figure, x: float, y: float) -> tuple[list[str], float]:
    """A figure with its caption above and its legend below, and how high all that is."""
    parts = [text(x, y + 12, figure.caption, "caption", "start")] if figure.caption else []
    top = y + (_CAPTION if figure.caption else 0.0)
    parts.append(_placed(figure.svg, x, top))
    legend, height = _legend(figure, x, top + figure.svg.height + 6)
    return [*parts, *legend], top - y + figure.svg.height + height


def _placed(picture: Picture, x: float, y: float) -> str:
    """A picture within another, in its own size: the inner element fills the one around it."""
    size = f'width="{picture.width:g}" height="{picture.height:g}"'
    return f'<svg x="{x:g}" y="{y:g}" {size}>{picture}</svg>'


def _legend(figure: Figure, left: float, top: float) -> tuple[list[str], float]:
    """Lines of symbols with names, and how high they are; one series goes without saying."""
    if len(figure.legend) < 2:
        return [], 0.0
    parts, x, y = [], left, top
    for series in figure.legend:
        wide = _SYMBOL + NARROW_LETTER * len(series.name) + 10
        if x > left and x + wide > left + figure.svg.width:
            x, y = left, y + _LEGEND_LINE
        parts.append(f'<g transform="translate({x:g} {y:g})">{series.symbol}</g>')
        parts.append(text(x + _SYMBOL, y + 9, series.name, "tick", "start"))
        x += wide
    return parts, y - top + _LEGEND_LINE + 6


@cache
def _style() -> str:
    """The rules of charts with plain colours: many programs that show pictures know no others."""
    folder = Path(__file__).parent
    rules = _FONT + (folder / "charts.css").read_text(encoding="utf-8")
    light, dark = (folder / "colours.css").read_text(encoding="utf-8").split("@media", 1)
    night = "\n".join(each for each in _coloured(rules, dark).splitlines() if "#" in each)
    return f"{_coloured(rules, light)}@media (prefers-color-scheme: dark) {{\n{night}\n}}"


def _coloured(rules: str, colours: str) -> str:
    known = dict(re.findall(r"(--[\w-]+):\s*(#\w+)", colours))
    return re.sub(r"var\((--[\w-]+)\)", lambda found: known[found[1]], rules)
