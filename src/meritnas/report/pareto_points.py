"""The points of a trade-off curve as text: for the page, the figure and the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.names import metric_name
from meritnas.report.numbers import count_text, score_text

BEST = "the best up to its size"
NOT_BEST = "one no larger is as good"
"""What points of a trade-off curve are, by validation loss."""


def curve_metric(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The metric of a curve; None without test rows, where points have their validation loss."""
    return next(iter(rows[0]["test"]), None)


def score_label(metric: str | None) -> str:
    """What the scores of a curve are."""
    return "validation loss" if metric is None else f"test {metric_name(metric)}"


def score_of(row: Mapping[str, Any], metric: str | None) -> float:
    """The score of a point; its validation loss where there are no test rows."""
    return float(row["valid_loss"] if metric is None else row["test"][metric])


def short_of(row: Mapping[str, Any]) -> str:
    """The network of a point in a few words; runs of earlier versions have its text only."""
    return str(row.get("short", row["architecture"]))


def point_cells(row: Mapping[str, Any], metric: str | None) -> tuple[str, str, str, str, str]:
    """A point as a row of a table: its limit, network, parameters, score, and if one is as good."""
    spread = None if metric is None else row["test_spread"][metric] or None
    return (
        "no limit" if row["limit"] is None else count_text(row["limit"]),
        short_of(row),
        count_text(row["params"]),
        score_text(score_of(row, metric), spread),
        "" if row["best"] else NOT_BEST,
    )
