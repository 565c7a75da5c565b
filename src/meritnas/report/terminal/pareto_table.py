from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from meritnas.report.numbers import count_text, score_text
from meritnas.report.terminal.summary import metric_name

BEST = "the best up to its size"
NOT_BEST = "one no larger is as good"
"""What points of a trade-off curve are, by validation loss."""


def pareto_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A trade-off curve for people: the best network found for each limit."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="smaller limits", title_justify="left")
    table.add_column("at most", justify="right")
    table.add_column("network", overflow="fold")
    table.add_column("parameters", justify="right")
    metric = next(iter(rows[0]["test"]), None)
    table.add_column("validation loss" if metric is None else f"test {metric_name(metric)}")
    table.add_column("")
    for row in rows:
        table.add_row(
            "no limit" if row["limit"] is None else count_text(row["limit"]),
            short_of(row),
            count_text(row["params"]),
            point_text(row, metric),
            "" if row["best"] else NOT_BEST,
        )
    return table


def short_of(row: Mapping[str, Any]) -> str:
    """The network of a point in a few words; runs of earlier versions have its text only."""
    return str(row.get("short", row["architecture"]))


def score_of(row: Mapping[str, Any], metric: str | None) -> float:
    """The score of a point; its validation loss where there are no test rows."""
    return float(row["valid_loss"] if metric is None else row["test"][metric])


def point_text(row: Mapping[str, Any], metric: str | None) -> str:
    """The score of a point, and how much it varies."""
    spread = None if metric is None else row["test_spread"][metric] or None
    return score_text(score_of(row, metric), spread)
