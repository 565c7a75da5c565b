from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from meritnas.report.charts.svg import (
    COLOURS,
    LETTER,
    line,
    svg,
    text,
    text_inside,
    thinned,
    tick_text,
    ticks,
)

_WIDTH, _HEIGHT = 440.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 428.0, 12.0, 190.0


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
    """

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    dots: bool = False
    ranges: Sequence[tuple[float, float]] | None = None
    colour: int = 0
    joined: bool = True

    @property
    def kind(self) -> str:
        """The class of its line."""
        return f"line l{self.colour % COLOURS}" + (" dashed" if self.dashed else "")

    @property
    def sign(self) -> str:
        """What a legend has for it, 26 wide and 10 high: its line and its dots."""
        parts = [line(1, 5, 25, 5, self.kind)] if self.joined else []
        return "".join([*parts, *([_dot(13, 5, self)] if self.dots else [])])


@dataclass(frozen=True)
class _Scale:
    """From numbers to places along an axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        share = 0.5 if high == low else (value - low) / (high - low)
        return self.start + share * (self.end - self.start)


def line_chart(
    title: str,
    series: Sequence[Series],
    x_label: str,
    bounds: tuple[float, float] | None = None,
    *,
    log_x: bool = False,
) -> str:
    """Lines over a common axis; points that are no finite numbers are left out.

    Args:
        title: for those who cannot see it.
        series: the lines.
        x_label: what the axis below has.
        bounds: of the axis beside it; None for what the lines need.
        log_x: whether the axis below is logarithmic; then every x is above 0.
    """
    shown = [(each, _finite(each)) for each in series]
    points = [point for _, own in shown for point in own]
    if not points:
        return ""
    y = _up(points, series, bounds)
    x = _across(points, y, log_x=log_x)
    parts = _axes(x, y, x_label, whole=all(a.is_integer() for a, _ in points))
    for each, own in shown:
        places = [(x(a), y(b)) for a, b in thinned(own)]
        if each.joined and len(places) > 1:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
            parts.append(
                f'<polyline class="{each.kind}" points="{path}">'
                f"<title>{escape(each.name)}</title></polyline>"
            )
        for (a, _), (low, high) in zip(own, each.ranges or (), strict=False):
            parts.append(line(x(a), y(low), x(a), y(high), each.kind))
        if each.dots or len(places) == 1:
            parts += [_dot(a, b, each) for a, b in places]
    return svg(title, _WIDTH, _HEIGHT, parts, "chart plot")


def _up(
    points: Sequence[tuple[float, float]],
    series: Sequence[Series],
    bounds: tuple[float, float] | None,
) -> _Scale:
    """The axis beside a chart."""
    if bounds is None:
        reach = [b for _, b in points]
        reach += [end for each in series for ends in each.ranges or () for end in ends]
        bounds = min(reach), max(reach)
        pad = 0.06 * (bounds[1] - bounds[0]) or abs(bounds[0]) * 0.1 or 1.0
        bounds = bounds[0] - pad, bounds[1] + pad
    return _Scale(bounds[0], bounds[1], _BOTTOM, _TOP)


def _across(points: Sequence[tuple[float, float]], y: _Scale, *, log_x: bool) -> _Scale:
    """The axis below a chart; it begins where the numbers beside the chart end."""
    across = [a for a, _ in points]
    margin = 1.25 if log_x else 1.0
    longest = max((len(tick_text(value)) for value in ticks(y.low, y.high)), default=0)
    left = max(_LEFT, 10.0 + LETTER * longest)
    return _Scale(min(across) / margin, max(across) * margin, left, _RIGHT, log_x)


def _axes(x: _Scale, y: _Scale, label: str, *, whole: bool) -> list[str]:
    """Lines and numbers; of steps, which are whole numbers, nothing between two of them."""
    parts = []
    for value in ticks(y.low, y.high):
        parts.append(line(x.start, y(value), x.end, y(value), "grid"))
        parts.append(text(x.start - 6, y(value) + 4, tick_text(value), anchor="end"))
    for value in _log_ticks(x.low, x.high) if x.log else ticks(x.low, x.high, 5):
        if not whole or abs(value - round(value)) < 1e-9:
            parts.append(text_inside(x(value), _BOTTOM + 17, tick_text(value), _WIDTH))
    parts.append(line(x.start, _BOTTOM, x.end, _BOTTOM, "axis"))
    parts.append(text((x.start + x.end) / 2, _HEIGHT - 5, label, "label"))
    return parts


def _log_ticks(low: float, high: float) -> list[float]:
    found = [
        factor * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factor in (1, 2, 5)
    ]
    inside = [value for value in found if low <= value <= high]
    if len(inside) < 3:
        return ticks(low, high)
    return inside[:: max(1, len(inside) // 5)]


def _finite(series: Series) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in series.points if math.isfinite(a) and math.isfinite(b)]


def _dot(x: float, y: float, series: Series) -> str:
    hollow = "hollow " if series.dashed else ""
    colour = series.colour % COLOURS
    return f'<circle class="{hollow}f{colour} l{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
