"""The trade-off curve as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.pareto_points import curve_metric, point_cells, score_label
from meritnas.report.terminal.plain import PlainTable


def pareto_table(rows: Sequence[Mapping[str, Any]]) -> PlainTable:
    """A trade-off curve for people: the best network found for each limit."""
    table = PlainTable("smaller limits")
    table.title_justify = "left"
    table.add_column("at most", justify="right")
    table.add_column("network", overflow="fold")
    table.add_column("parameters", justify="right")
    metric = curve_metric(rows)
    table.add_column(score_label(metric))
    table.add_column("")
    for row in rows:
        table.add_row(*point_cells(row, metric))
    return table
