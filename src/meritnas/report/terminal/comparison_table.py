"""Compared strategies as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.report.names import metric_name
from meritnas.report.numbers import chance_text, count_text, duration_text, score_text
from meritnas.report.terminal.plain import PlainTable


def comparison_table(compared: Mapping[str, Any]) -> PlainTable:
    """Strategies, the best first; `compared` is what `meritnas compare --json` prints."""
    table = PlainTable()
    table.add_column("strategy", overflow="fold")
    score = f"test {metric_name(str(compared['metric']))}"
    seeds = len({run["seed"] for run in compared["runs"]})
    best = ["best by validation"] if seeds > 1 else []
    for name in (score, *best, "mean rank", "p against the best", "passes", "time"):
        table.add_column(name, justify="right")
    for row in compared["table"]:
        table.add_row(
            row["strategy"],
            score_text(row["score"], row["spread"] if seeds > 1 else None),
            *([score_text(row["best"], None)] if best else []),
            f"{row['rank']:.1f}",
            "" if row["p"] is None else chance_text(row["p"]),
            count_text(row["passes"]),
            duration_text(row["seconds"]),
        )
    about = f"means over {seeds} seeds" if seeds > 1 else "one seed"
    if compared["differ"] is not None:
        chance = chance_text(compared["differ"])
        sign = "" if chance.startswith("<") else "= "
        about += f"; ranks differ by chance with p {sign}{chance} (Friedman)"
    table.say_below(about)
    return table
