"""Horizontal bars: values with their intervals, and how much of limits is used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.report.charts.rows import names_width, row_axis, short_name
from meritnas.report.charts.scale import Scale
from meritnas.report.charts.svg import Picture, line, rect, svg, text

_WIDTH = 440.0
_ROW = 24.0


@dataclass(frozen=True)
class Bar:
    """A value with the interval that it is known to be in.

    Attributes:
        name: what it is a value of.
        value: its bar ends here.
        low: where the interval begins; equal to the value if nothing is known.
        high: where it ends.
        chosen: whether it is highlighted.
    """

    name: str
    value: float
    low: float
    high: float
    chosen: bool = False


def interval_bars(title: str, bars: Sequence[Bar], label: str) -> Picture:
    """Horizontal bars from 0, each with its interval; `label` says what the values are."""
    for bar in bars:
        if not all(map(math.isfinite, (bar.value, bar.low, bar.high))):
            raise ValueError(f"the value of {bar.name} or its interval is not finite")
    low = min(0.0, *(min(bar.low, bar.value) for bar in bars))
    high = max(0.0, *(max(bar.high, bar.value) for bar in bars))
    if low == high:
        high = low + 1.0
    left = names_width([short_name(bar.name) for bar in bars])
    x = Scale(low, high, left, _WIDTH - 14.0)
    bottom = 6.0 + _ROW * len(bars)
    parts = row_axis(x, 4.0, bottom, label, _WIDTH)
    for number, bar in enumerate(bars):
        y = 6.0 + _ROW * number
        kind = "bar strong" if bar.chosen else "bar"
        words = f"{bar.name}: {bar.value:+.4g} ({bar.low:+.4g} to {bar.high:+.4g})"
        begin, end = sorted((x(0.0), x(bar.value)))
        parts.append(rect(begin, y + 4, end - begin, _ROW - 9, kind, words))
        parts.append(line(x(bar.low), y + 11.5, x(bar.high), y + 11.5, "whisker"))
        parts += [line(x(v), y + 8, x(v), y + 15, "whisker") for v in (bar.low, bar.high)]
        style = "tick strong" if bar.chosen else "tick"
        parts.append(text(left - 8, y + 16, short_name(bar.name), style, "end"))
    parts.append(line(x(0.0), 4.0, x(0.0), bottom, "axis"))
    return svg(title, _WIDTH, bottom + 40, parts, "chart plot")


def limit_bars(title: str, rows: Sequence[tuple[str, float, str]]) -> Picture:
    """What is used of limits: (name, part of the limit, in words), a bar each."""
    parts = []
    for number, (name, share, words) in enumerate(rows):
        y = 4.0 + 44.0 * number
        parts.append(text(2, y + 12, name, "tick strong", "start"))
        parts.append(text(_WIDTH - 2, y + 12, words, "tick", "end"))
        parts.append(rect(2, y + 19, _WIDTH - 4, 14, "empty"))
        parts.append(rect(2, y + 19, (_WIDTH - 4) * min(1.0, share), 14, "bar strong", words))
    return svg(title, _WIDTH, 44.0 * len(rows) + 2, parts, "chart plot")
