"""Counted numbers as columns side by side."""

from __future__ import annotations

from collections.abc import Sequence

from meritnas.report.charts.scale import Scale
from meritnas.report.charts.svg import (
    LETTER,
    Picture,
    line,
    rect,
    svg,
    text,
    text_inside,
    tick_text,
)

_WIDTH, _HEIGHT = 440.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 14.0, 30.0, 40.0


def histogram(
    title: str, edges: Sequence[float], counts: Sequence[int], x_label: str, y_label: str
) -> Picture:
    """Columns between edges, each as high as its count, and a line at 0 where that is among them.

    Args:
        title: for those who cannot see it.
        edges: ascending [columns + 1].
        counts: [columns].
        x_label: what the axis below has.
        y_label: what is counted.
    """
    most = max(counts) or 1
    left = max(_LEFT, 10.0 + LETTER * len(tick_text(most)))
    x = Scale(edges[0], edges[-1], left, _WIDTH - _RIGHT)
    y = Scale(0.0, most * 1.04, _HEIGHT - _BOTTOM, _TOP)
    parts = []
    for value in y.ticks(5):
        if value == int(value):
            parts.append(line(x.start, y(value), x.end, y(value), "grid"))
            parts.append(text(x.start - 6, y(value) + 4, tick_text(value), anchor="end"))
    for value in x.ticks(5):
        parts.append(text_inside(x(value), y.start + 17, tick_text(value), _WIDTH))
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        words = f"{low:.4g} to {high:.4g}: {count:,}"
        wide = x(high) - x(low) - 1.0
        parts.append(rect(x(low) + 0.5, y(count), wide, y.start - y(count), "bar", words))
    if edges[0] < 0.0 < edges[-1]:
        parts.append(line(x(0.0), _TOP, x(0.0), y.start, "line l7 dashed"))
    parts.append(line(x.start, y.start, x.end, y.start, "axis"))
    parts.append(text((x.start + x.end) / 2, _HEIGHT - 5, x_label, "label"))
    parts.append(text(2, 14, y_label, "label", "start"))
    return svg(title, _WIDTH, _HEIGHT, parts, "chart plot")
