from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table

from meritnas.report.numbers import count_text, score_text
from meritnas.report.summary import metric_name

_ALTERNATIVES = 8
_INTERACTIONS = 5


def parts_table(explained: Mapping[str, Any]) -> Table:
    """What each part is worth; `explained` is what `meritnas explain --json` prints."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("part", "chosen"):
        table.add_column(name, overflow="fold")
    for name in ("Shapley value", "95 % interval"):
        table.add_column(name, justify="right")
    for row in explained["rows"]:
        interval = f"{row['low']:+.4f} to {row['high']:+.4f}"
        table.add_row(row["decision"], row["option"], f"{row['value']:+.4f}", interval)
    table.caption = (
        f"for the {metric_name(str(explained['metric']))} on validation rows "
        f"({score_text(explained['score'])} with all parts), by the weights that all networks "
        f"share; a part that is taken away leaves {explained['absent']}"
    )
    return table


def alternatives_table(explained: Mapping[str, Any], limits: Mapping[str, int]) -> Table:
    """The networks that differ in one answer and are closest to the chosen one.

    Args:
        explained: what `meritnas explain --json` prints.
        limits: of the run; without any nothing is said about them.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="closest alternatives")
    for name in ("part", "chosen", "instead"):
        table.add_column(name, overflow="fold")
    for name in ("loss", "parameters"):
        table.add_column(name, justify="right")
    if limits:
        table.add_column("keeps the limits")
    for row in explained["alternatives"][:_ALTERNATIVES]:
        cells = (
            row["decision"],
            row["instead_of"],
            row["option"],
            f"{row['loss_change']:+.4f}",
            count_text(row["cost"]),
        )
        table.add_row(*cells, *(["yes" if row["fits"] else "no"] if limits else []))
    return table


def interactions_table(explained: Mapping[str, Any]) -> Table:
    """The pairs of parts that are worth most, or least, more than each by itself."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="strongest interactions")
    for name in ("part", "with"):
        table.add_column(name, overflow="fold")
    table.add_column("together", justify="right")
    for row in explained["interactions"][:_INTERACTIONS]:
        table.add_row(row["first"], row["second"], f"{row['value']:+.4f}")
    return table
