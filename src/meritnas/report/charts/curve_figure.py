"""Curves over epochs or steps; one of a single point is said, not drawn."""

from __future__ import annotations

from collections.abc import Sequence

from meritnas.report.charts.figure import Figure
from meritnas.report.charts.lines import Series, line_chart


def curve_figure(
    title: str,
    series: Sequence[Series],
    unit: str,
    caption: str = "",
    bounds: tuple[float, float] | None = None,
) -> Figure | None:
    """Lines over a common axis; None without any point.

    Args:
        title: for those who cannot see it.
        series: the lines.
        unit: what the axis below counts: `epoch`, `step`.
        caption: what stands above it.
        bounds: of the axis beside it; None for what the lines need.
    """
    shown = [each for each in (one.finite() for one in series) if each.points]
    if not shown:
        return None
    places = sorted({x for each in shown for x, _ in each.points})
    if len(places) > 1:
        return Figure(line_chart(title, series, unit, bounds), caption, tuple(shown))
    values = "; ".join(f"{each.name} {each.points[0][1]:.4g}" for each in shown)
    words = f"There is one {unit} only ({places[0]:,.0f}), which makes no curve. {values}."
    return Figure.of_words(words, caption)
