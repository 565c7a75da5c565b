from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meritnas.report.terminal.summary import metric_name

_LEVEL = 0.05


def is_worse(row: Mapping[str, Any]) -> bool:
    """Whether a strategy is worse than the best beyond chance."""
    return row["p"] is not None and row["p"] < _LEVEL


def _label(row: Mapping[str, Any]) -> str:
    star = " *" if is_worse(row) else ""
    return f"{row['strategy']}{star}\nmean rank {row['rank']:.1f}"


def draw_comparison(compared: Mapping[str, Any], path: Path) -> None:
    """Draw the scores of all runs by strategy, with mean, spread and mean rank, and what they cost.

    Strategies that are worse than the best beyond chance are red and have a star.

    Args:
        compared: what `Comparison.to_json` gives.
        path: of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # here: it takes long to import
    from matplotlib.figure import Figure

    names = [_label(row) for row in compared["table"]]
    figure = Figure(figsize=(9.0, 1.6 + 0.55 * len(names)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2), sharey=True)
    for place, row in enumerate(compared["table"]):
        own = [run["score"] for run in compared["runs"] if run["strategy"] == row["strategy"]]
        colour = "C3" if is_worse(row) else "C0"
        left.plot(own, [place] * len(own), "o", color=colour, alpha=0.5, markersize=5)
        left.errorbar(row["score"], place, xerr=row["spread"] or None, fmt="D", color="black")
        right.barh(place, row["seconds"], color="C0")
        right.annotate(
            f" {row['passes']:,} passes", (row["seconds"], place), va="center", fontsize=8
        )
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    if any(map(is_worse, compared["table"])):
        left.set_title(f"* worse than the best, p < {_LEVEL:g}", loc="left", fontsize=8, color="C3")
    left.set_xlabel(f"test {metric_name(compared['metric'])}")
    right.set_xlabel("seconds for search and training")
    right.margins(x=0.35)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.3)
    figure.savefig(path)
