from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from meritnas.report.svg import COLOURS, line, svg, text, thinned, tick_text, ticks

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
        spread: how far every point may be off, if that is known.
        colour: the number of its colour.
        joined: whether points are joined by a line.
    """

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    dots: bool = False
    spread: Sequence[float] | None = None
    colour: int = 0
    joined: bool = True

    @property
    def kind(self) -> str:
        """The class of its line."""
        return f"line l{self.colour % COLOURS}" + (" dashed" if self.dashed else "")


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
    x, y = _scales(points, shown, bounds, log_x=log_x)
    parts = _axes(x, y, x_label)
    for each, own in shown:
        places = [(x(a), y(b)) for a, b in thinned(own)]
        if each.joined and len(places) > 1:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
            parts.append(
                f'<polyline class="{each.kind}" points="{path}">'
                f"<title>{escape(each.name)}</title></polyline>"
            )
        for (a, b), spread in zip(own, each.spread or (), strict=False):
            parts.append(line(x(a), y(b - spread), x(a), y(b + spread), each.kind))
        if each.dots or len(places) == 1:
            parts += [_dot(a, b, each) for a, b in places]
    return svg(title, _WIDTH, _HEIGHT, parts, "chart plot")


def _scales(
    points: Sequence[tuple[float, float]],
    shown: Sequence[tuple[Series, Sequence[tuple[float, float]]]],
    bounds: tuple[float, float] | None,
    *,
    log_x: bool,
) -> tuple[_Scale, _Scale]:
    across = [a for a, _ in points]
    low, high = min(across), max(across)
    margin = 1.25 if log_x else 1.0
    x = _Scale(low / margin, high * margin, _LEFT, _RIGHT, log_x)
    if bounds is None:
        reach = [
            b + sign * spread
            for each, own in shown
            for (_, b), spread in zip(own, each.spread or [0.0] * len(own), strict=False)
            for sign in (-1, 1)
        ]
        bounds = min(reach), max(reach)
        pad = 0.06 * (bounds[1] - bounds[0]) or abs(bounds[0]) * 0.1 or 1.0
        bounds = bounds[0] - pad, bounds[1] + pad
    return x, _Scale(bounds[0], bounds[1], _BOTTOM, _TOP)


def _axes(x: _Scale, y: _Scale, label: str) -> list[str]:
    parts = []
    for value in ticks(y.low, y.high):
        parts.append(line(_LEFT, y(value), _RIGHT, y(value), "grid"))
        parts.append(text(_LEFT - 6, y(value) + 4, tick_text(value), anchor="end"))
    for value in _log_ticks(x.low, x.high) if x.log else ticks(x.low, x.high, 5):
        parts.append(text(x(value), _BOTTOM + 17, tick_text(value)))
    parts.append(line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis"))
    parts.append(text((_LEFT + _RIGHT) / 2, _HEIGHT - 5, label, "label"))
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
