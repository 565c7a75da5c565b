"""Predicted against true numbers, a dot for each row, beside the line of no error."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from meritnas.report.charts.scale import Scale, padded
from meritnas.report.charts.svg import LETTER, Picture, line, svg, text, text_inside, tick_text

_WIDTH, _HEIGHT = 440.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 14.0, 30.0, 40.0


def scatter_chart(
    title: str, points: Sequence[tuple[float, float]], x_label: str, y_label: str
) -> Picture:
    """Dots on two axes of one scale, and the line where both are the same.

    Args:
        title: for those who cannot see it.
        points: finite (x, y).
        x_label: what the axis below has.
        y_label: what the axis beside it has.
    """
    reach = [value for point in points for value in point]
    low, high = padded(min(reach), max(reach))
    longest = max(len(tick_text(value)) for value in Scale(low, high, 0.0, 1.0).ticks(5))
    left = max(_LEFT, 10.0 + LETTER * longest)
    x, y = Scale(low, high, left, _WIDTH - _RIGHT), Scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = []
    for value in y.ticks(5):
        parts.append(line(x.start, y(value), x.end, y(value), "grid"))
        parts.append(text(x.start - 6, y(value) + 4, tick_text(value), anchor="end"))
        parts.append(text_inside(x(value), y.start + 17, tick_text(value), _WIDTH))
    parts.append(line(x.start, y.start, x.end, y.start, "axis"))
    parts.append(text((x.start + x.end) / 2, _HEIGHT - 5, x_label, "label"))
    parts.append(text(2, 14, y_label, "label", "start"))
    parts.append(line(x(low), y(low), x(high), y(high), "line l7 dashed"))
    for a, b in points:
        words = f"{x_label} {a:.6g}, {y_label} {b:.6g}"
        parts.append(
            f'<circle class="f0 faded" cx="{x(a):.1f}" cy="{y(b):.1f}" r="3.5">'
            f"<title>{escape(words)}</title></circle>"
        )
    return svg(title, _WIDTH, _HEIGHT, parts, "chart plot")
