"""What modalities are worth, and scores under noise, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.modality_rows import USE_HEAD, use_cells, worth_under_noise
from meritnas.report.names import metric_name
from meritnas.report.numbers import score_text, signed_text
from meritnas.report.terminal.plain import PlainTable


def use_table(explained: Mapping[str, Any]) -> PlainTable:
    """What each modality is worth; `explained` is what `meritnas explain --json` prints."""
    metric = metric_name(str(explained["metric"]))
    table = PlainTable()
    for name in USE_HEAD:
        table.add_column(name, justify="left" if name == "modality" else "right")
    for row in explained["modalities"]:
        table.add_row(*use_cells(row, explained["score"]))
    table.say_below(
        f"{metric} {score_text(explained['score'])} with all, "
        f"{score_text(explained['nothing'])} with none"
    )
    return table


def disturbed_table(rows: Sequence[Mapping[str, Any]], metric: str) -> PlainTable:
    """Scores by disturbance and modality, a column for each level."""
    table = PlainTable()
    table.add_column("disturbance")
    table.add_column("modality", overflow="fold")
    table.add_column(f"{metric_name(metric)} at level: score", justify="left")
    keys = dict.fromkeys((row["disturbance"], row["modality"]) for row in rows)
    for kind, name in keys:
        own = [row for row in rows if (row["disturbance"], row["modality"]) == (kind, name)]
        levels = "   ".join(f"{row['level']:g}: {score_text(row['score'])}" for row in own)
        table.add_row(kind, name, levels)
    return table


def worth_table(rows: Sequence[Mapping[str, Any]]) -> PlainTable | None:
    """What modalities are worth as noise grows; None where that was not found."""
    found = worth_under_noise(rows)
    if not found:
        return None
    table = PlainTable()
    table.add_column("disturbance")
    table.add_column("of", justify="left")
    table.add_column("modality", overflow="fold")
    table.add_column("level: its Shapley value", justify="left")
    for one in found:
        levels = "   ".join(f"{x:g}: {signed_text(v)}" for x, v in sorted(one.values.items()))
        table.add_row(one.disturbance, one.noisy, one.modality, levels)
    return table
