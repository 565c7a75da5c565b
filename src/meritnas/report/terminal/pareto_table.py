"""The trade-off curve as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from meritnas.report.pareto_points import curve_metric, point_cells, score_label


def pareto_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A trade-off curve for people: the best network found for each limit."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="smaller limits", title_justify="left")
    table.add_column("at most", justify="right")
    table.add_column("network", overflow="fold")
    table.add_column("parameters", justify="right")
    metric = curve_metric(rows)
    table.add_column(score_label(metric))
    table.add_column("")
    for row in rows:
        table.add_row(*point_cells(row, metric))
    return table
