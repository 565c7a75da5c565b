"""Strategies compared: the scores of all runs, and what they cost, as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from meritnas.report.charts.figure import Figure
from meritnas.report.charts.figure_file import figure_file
from meritnas.report.charts.rows import names_width, row_axis
from meritnas.report.charts.scale import Scale, padded
from meritnas.report.charts.score_range import score_range
from meritnas.report.charts.svg import LETTER, line, rect, svg, text
from meritnas.report.names import metric_name
from meritnas.report.numbers import count_text, score_text

_LEVEL = 0.05
_ROW, _TOP = 42.0, 8.0
_SCORES, _TIMES, _BETWEEN = 340.0, 240.0, 36.0


def is_worse(row: Mapping[str, Any]) -> bool:
    """Whether a strategy is worse than the best beyond chance."""
    return row["p"] is not None and row["p"] < _LEVEL


def comparison_file(compared: Mapping[str, Any]) -> str:
    """The text of `comparison.svg`; `compared` is what `Comparison.to_json` gives."""
    title = "Strategies compared"
    if any(map(is_worse, compared["table"])):
        title += f" (* worse than the best, p < {_LEVEL:g})"
    return figure_file(title, [comparison_figure(compared)])


def comparison_figure(compared: Mapping[str, Any]) -> Figure:
    """The scores of all runs by strategy, with mean, spread and mean rank, and what they cost.

    Strategies that are worse than the best beyond chance have another colour and a star.
    """
    table: Sequence[Mapping[str, Any]] = compared["table"]
    metric = str(compared["metric"])
    names = [f"{row['strategy']} *" if is_worse(row) else str(row["strategy"]) for row in table]
    ranks = [f"mean rank {row['rank']:.1f}" for row in table]
    left = names_width([*names, *ranks])
    right = left + _SCORES + _BETWEEN + _TIMES
    scores = {
        str(row["strategy"]): [
            float(run["score"]) for run in compared["runs"] if run["strategy"] == row["strategy"]
        ]
        for row in table
    }
    reach = [end for row in table for end in _spread(row, metric)]
    reach += [score for own in scores.values() for score in own]
    x = Scale(*padded(min(reach), max(reach)), left, left + _SCORES)
    passes = [f"{count_text(row['passes'])} passes" for row in table]
    room = 8.0 + LETTER * max(map(len, passes))
    slowest = max(float(row["seconds"]) for row in table) or 1.0
    time = Scale(0.0, slowest, left + _SCORES + _BETWEEN, right - room)
    bottom = _TOP + _ROW * len(table)
    parts = row_axis(x, 4.0, bottom, f"test {metric_name(metric)}", right)
    parts += row_axis(time, 4.0, bottom, "seconds for search and training", right)
    for number, row in enumerate(table):
        y, seconds = _TOP + _ROW * (number + 0.5), float(row["seconds"])
        parts.append(text(left - 8, y - 2, names[number], "tick ink", "end"))
        parts.append(text(left - 8, y + 13, ranks[number], "tick", "end"))
        parts += _score_row(row, scores[str(row["strategy"])], metric, x, y)
        words = f"{row['strategy']}: {seconds:,.1f} seconds, {passes[number]}"
        parts.append(rect(time.start, y - 8, time(seconds) - time.start, 16, "bar", words))
        parts.append(text(time(seconds) + 6, y + 4, passes[number], "tick", "start"))
    parts += [line(each.start, 4.0, each.start, bottom, "axis") for each in (x, time)]
    title = f"Test {metric_name(metric)} and time by strategy"
    return Figure(svg(title, right, bottom + 40, parts), "Runs (dots), their means and spreads")


def _spread(row: Mapping[str, Any], metric: str) -> tuple[float, float]:
    return score_range(metric, float(row["score"]), float(row["spread"] or 0.0))


def _score_row(
    row: Mapping[str, Any], scores: Sequence[float], metric: str, x: Scale, y: float
) -> list[str]:
    """A dot for each run, a line for the spread and a diamond for the mean."""
    colour = 1 if is_worse(row) else 0
    name = str(row["strategy"])
    parts = [
        f'<circle class="f{colour} faded" cx="{x(score):.1f}" cy="{y:.1f}" r="4.5">'
        f"<title>{escape(name)}: {score_text(score)}</title></circle>"
        for score in scores
    ]
    low, high = _spread(row, metric)
    if high > low:
        parts.append(line(x(low), y, x(high), y, "whisker"))
    mean = score_text(float(row["score"]), row["spread"] or None)
    at = x(float(row["score"]))
    parts.append(
        f'<path class="mean" d="M{at - 5:.1f},{y:.1f} l5,-5 l5,5 l-5,5 z">'
        f"<title>{escape(name)}: {mean}, mean of {len(scores)}</title></path>"
    )
    return parts
