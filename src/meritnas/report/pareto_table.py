from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from meritnas.report.network import short_network
from meritnas.report.numbers import count_text, score_text
from meritnas.report.summary import metric_name


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
        if metric is None:
            score = score_text(row["valid_loss"])
        else:
            score = score_text(row["test"][metric], row["test_spread"][metric] or None)
        table.add_row(
            "no limit" if row["limit"] is None else count_text(row["limit"]),
            short_network(str(row["architecture"])),
            count_text(row["params"]),
            score,
            "" if row["best"] else "a smaller one is as good",
        )
    return table
