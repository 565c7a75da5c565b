"""Lines and points over a common axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

from meritnas.report.charts.point_names import point_names
from meritnas.report.charts.scale import Scale, padded
from meritnas.report.charts.svg import (
    COLOURS,
    LETTER,
    Picture,
    group,
    line,
    svg,
    text,
    text_inside,
    thinned,
    tick_text,
)

_SIZE = (440.0, 230.0)
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 12.0, 12.0, 40.0
"""What is around the lines: for the numbers beside and below them, and the axis' label."""
_POINTED_AT = 40
"""So many points of a line say their numbers at most."""
_ABOVE = 18.0
"""What the label of the axis beside them takes above them."""


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    Attributes:
        name: for the legend.
        points: (x, y), x ascending.
        dashed: whether its line is.
        dots: whether its points are drawn.
        ranges: (low, high) that every point may be in, if that is known.
        colour: the number of its colour.
        joined: whether points are joined by a line.
        names: what is written beside the points where there is room, if they have names.
        said: what each point says when it is pointed at; by default its numbers.
    """

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    dots: bool = False
    ranges: Sequence[tuple[float, float]] | None = None
    colour: int = 0
    joined: bool = True
    names: Sequence[str] = ()
    said: Sequence[str] = ()

    @property
    def kind(self) -> str:
        """The class of its line."""
        return f"line l{self.colour % COLOURS}" + (" dashed" if self.dashed else "")

    @property
    def symbol(self) -> str:
        """What a legend has for it, 26 wide and 10 high: its line and its dots."""
        parts = [line(1, 5, 25, 5, self.kind)] if self.joined else []
        return "".join([*parts, *([self.dot(13, 5)] if self.dots else [])])

    def dot(self, x: float, y: float, name: str = "") -> str:
        """A point of it, hollow where its line is dashed; its name appears above it."""
        hollow = "hollow " if self.dashed else ""
        colour = self.colour % COLOURS
        inner = f"<title>{escape(name)}</title>" if name else ""
        return (
            f'<circle class="{hollow}f{colour} l{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4">'
            f"{inner}</circle>"
        )

    def finite(self) -> Series:
        """The same without points that are no finite numbers."""
        kept = [k for k, point in enumerate(self.points) if all(map(math.isfinite, point))]
        points = [(float(self.points[k][0]), float(self.points[k][1])) for k in kept]
        ranges = None if self.ranges is None else [self.ranges[k] for k in kept]
        names = [self.names[k] for k in kept if self.names]
        said = [self.said[k] for k in kept if self.said]
        return replace(self, points=points, ranges=ranges, names=names, said=said)

    @property
    def words(self) -> list[str]:
        """What each point says when it is pointed at."""
        return list(self.said) or [f"{self.name}: {y:.4g} at {x:,.4g}" for x, y in self.points]


def line_chart(
    title: str,
    series: Sequence[Series],
    x_label: str,
    bounds: tuple[float, float] | None = None,
    *,
    y_label: str = "",
    log_x: bool = False,
    size: tuple[float, float] = _SIZE,
    groups: Sequence[str] = (),
) -> Picture:
    """Lines over a common axis; points that are no finite numbers are left out.

    Args:
        title: for those who cannot see it.
        series: the lines.
        x_label: what the axis below has.
        bounds: of the axis beside it; None for what the lines need.
        y_label: what the axis beside it has, where a caption does not say it.
        log_x: whether the axis below is logarithmic; then every x is above 0.
        size: width and height.
        groups: for each line the class of an element around it, by which a page can hide it; then
            nothing is written beside points, and names only appear above them.

    Returns:
        The picture; an empty text without any point.
    """
    shown = [each.finite() for each in series]
    if not any(each.points for each in shown):
        return Picture("", 0.0, 0.0)
    y = _y_scale(shown, bounds, size[1], _TOP + (_ABOVE if y_label else 0.0))
    x = _x_scale(shown, y, size[0], log_x=log_x)
    parts = _axes(x, y, x_label, whole=all(a.is_integer() for s in shown for a, _ in s.points))
    if y_label:
        parts.append(text(2, 14, y_label, "label", "start"))
    for number, each in enumerate(shown):
        drawn = _line(each, x, y)
        parts += [group(groups[number], drawn)] if groups else drawn
    parts += [] if groups else _names(shown, x, y)
    return svg(title, *size, parts, "chart plot")


def _y_scale(
    series: Sequence[Series], bounds: tuple[float, float] | None, height: float, top: float
) -> Scale:
    """The axis beside a chart."""
    if bounds is None:
        reach = [b for each in series for _, b in each.points]
        reach += [end for each in series for ends in each.ranges or () for end in ends]
        bounds = padded(min(reach), max(reach))
    return Scale(*bounds, height - _BOTTOM, top)


def _x_scale(series: Sequence[Series], y: Scale, width: float, *, log_x: bool) -> Scale:
    """The axis below a chart; it begins where the numbers beside the chart end."""
    across = [a for each in series for a, _ in each.points]
    margin = 1.25 if log_x else 1.0
    longest = max((len(tick_text(value)) for value in y.ticks(_tick_count(y))), default=0)
    left = max(_LEFT, 10.0 + LETTER * longest)
    return Scale(min(across) / margin, max(across) * margin, left, width - _RIGHT, log_x)


def _tick_count(y: Scale) -> int:
    """About how many numbers are beside a chart."""
    return max(4, round((y.start - y.end) / 45))


def _axes(x: Scale, y: Scale, label: str, *, whole: bool) -> list[str]:
    """Lines and numbers; of steps, which are whole numbers, nothing between two of them."""
    parts = []
    for value in y.ticks(_tick_count(y)):
        parts.append(line(x.start, y(value), x.end, y(value), "grid"))
        parts.append(text(x.start - 6, y(value) + 4, tick_text(value), anchor="end"))
    for value in x.ticks(5):
        if not whole or abs(value - round(value)) < 1e-9:
            words = tick_text(value)
            parts.append(text_inside(x(value), y.start + 17, words, x.end + _RIGHT))
    parts.append(line(x.start, y.start, x.end, y.start, "axis"))
    parts.append(text((x.start + x.end) / 2, y.start + _BOTTOM - 5, label, "label"))
    return parts


def _line(series: Series, x: Scale, y: Scale) -> list[str]:
    """The line of a series, the ranges of its points, and its points."""
    parts = []
    places = [(x(a), y(b)) for a, b in thinned(series.points)]
    if series.joined and len(places) > 1:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(
            f'<polyline class="{series.kind}" points="{path}">'
            f"<title>{escape(series.name)}</title></polyline>"
        )
    for (a, _), (low, high) in zip(series.points, series.ranges or (), strict=False):
        parts.append(line(x(a), y(low), x(a), y(high), series.kind))
    if series.names:
        names = zip(series.points, series.names, strict=True)
        parts += [series.dot(x(a), y(b), name) for (a, b), name in names]
    elif series.dots or len(places) == 1:
        parts += [series.dot(a, b) for a, b in places]
    elif series.joined:
        told = list(zip(series.points, series.words, strict=True))
        parts += [_told(x(a), y(b), words) for (a, b), words in thinned(told, _POINTED_AT)]
    return parts


def _told(x: float, y: float, words: str) -> str:
    """A place on a line that says its numbers when it is pointed at."""
    return (
        f'<circle class="told" cx="{x:.1f}" cy="{y:.1f}" r="6"><title>{escape(words)}</title>'
        "</circle>"
    )


def _names(series: Sequence[Series], x: Scale, y: Scale) -> list[str]:
    """The names of points, beside them."""
    named, lines = [], []
    for each in series:
        places = [(x(a), y(b)) for a, b in each.points]
        named += [(a, b, name) for (a, b), name in zip(places, each.names, strict=False)]
        lines += list(pairwise(places)) if each.joined else []
        for (a, _), (low, high) in zip(places, each.ranges or (), strict=False):
            lines.append(((a, y(low)), (a, y(high))))
    return point_names(named, lines, (x.start, y.end, x.end, y.start))
