"""The trade-off curve: score against parameters, on the page and as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from meritnas.report.charts.figure import Figure
from meritnas.report.charts.figure_file import figure_file
from meritnas.report.charts.lines import Series, line_chart
from meritnas.report.charts.score_range import score_range
from meritnas.report.pareto_points import (
    BEST,
    NOT_BEST,
    curve_metric,
    score_label,
    score_of,
    short_of,
)

_PAGE, _FILE = (440.0, 250.0), (700.0, 400.0)


def pareto_figure(
    rows: Sequence[Mapping[str, Any]], size: tuple[float, float] = _PAGE
) -> Figure | None:
    """Score against parameters with the spread over trainings; None without any finite score.

    Networks that one no larger equals by validation loss are drawn hollow, off the line.

    Args:
        rows: points of the curve, as a run's result has them.
        size: of the chart.
    """
    metric = curve_metric(rows)
    series = [
        _series([row for row in rows if bool(row["best"]) is best], metric, best=best)
        for best in (True, False)
    ]
    legend = tuple(each for each in series if each.points)
    caption = f"{score_label(metric)} against parameters"
    chart = line_chart(
        caption,
        legend,
        "parameters",
        y_label=score_label(metric),
        log_x=min(row["params"] for row in rows) > 0,
        size=size,
    )
    return Figure(chart, caption, legend) if chart else None


def pareto_file(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text of `pareto.svg`."""
    figure = pareto_figure(rows, _FILE)
    if figure is None:
        return figure_file("Trade-off", [])
    return figure_file(f"Trade-off: {figure.caption}", [replace(figure, caption="")])


def _series(rows: Sequence[Mapping[str, Any]], metric: str | None, *, best: bool) -> Series:
    own = sorted(rows, key=lambda row: int(row["params"]))
    ranges = None
    if metric is not None:
        ranges = [
            score_range(metric, score_of(row, metric), float(row["test_spread"][metric]))
            for row in own
        ]
    return Series(
        BEST if best else NOT_BEST,
        [(float(row["params"]), score_of(row, metric)) for row in own],
        dashed=not best,
        dots=True,
        ranges=ranges,
        joined=best,
        names=[short_of(row) for row in own],
    )
