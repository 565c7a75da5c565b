from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from meritnas.report.charts.score_range import score_range
from meritnas.report.terminal.pareto_table import score_of, short_of
from meritnas.report.terminal.summary import metric_name


def draw_pareto(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw a trade-off curve: score against parameters, with the spread over trainings.

    Networks that one no larger equals by validation loss are drawn hollow, off the line.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # here: it takes long to import
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    metric = next(iter(rows[0]["test"]), None)
    figure = Figure(figsize=(7.0, 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    points = sorted(rows, key=lambda row: int(row["params"]))
    best = [row for row in points if row["best"]]
    axes.plot([row["params"] for row in best], [score_of(row, metric) for row in best], color="C0")
    for row in points:
        score = score_of(row, metric)
        spread = 0.0 if metric is None else float(row["test_spread"][metric])
        low, high = score_range(metric, score, spread)
        reach = [[score - low], [high - score]] if spread else None
        face = "C0" if row["best"] else "white"
        axes.errorbar(row["params"], score, yerr=reach, fmt="o", color="C0", mfc=face)
        axes.annotate(
            short_of(row),
            (row["params"], score),
            xytext=(6, -12),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xscale("log")
    for axis_part in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        axis_part(StrMethodFormatter("{x:,.0f}"))
    axes.tick_params(axis="x", which="minor", labelsize=7)
    axes.set_xlabel("parameters")
    axes.set_ylabel("validation loss" if metric is None else f"test {metric_name(metric)}")
    axes.margins(0.12)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
