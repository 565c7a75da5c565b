"""What each modality is worth and what noise costs, on the page and as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.charts.bars import Bar, interval_bars
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.figure_file import figure_file
from meritnas.report.charts.lines import Series, line_chart
from meritnas.report.modality_rows import ALL, worth_under_noise
from meritnas.report.names import metric_name

_SIZE = (440.0, 250.0)
_TOGETHER = (ALL, "any")
"""What rows of scores under noise call no single modality."""

Scores = dict[str, dict[float, float]]
"""Score by modality and level."""


def use_figure(use: Sequence[Mapping[str, Any]], metric: str) -> Figure:
    """What each modality is worth, with intervals; `use` has rows of `ModalityUse.rows`."""
    caption = "What each modality is worth"
    bars = [Bar(str(row["modality"]), row["value"], row["low"], row["high"]) for row in use]
    chart = interval_bars(caption, bars, f"Shapley value ({metric_name(metric)})")
    return Figure(chart, caption)


def scores_by_kind(disturbed: Sequence[Mapping[str, Any]]) -> dict[str, Scores]:
    """Rows with disturbance, modality, level and score, by kind of disturbance."""
    kinds: dict[str, Scores] = {}
    for row in disturbed:
        scores = kinds.setdefault(str(row["disturbance"]), {}).setdefault(str(row["modality"]), {})
        scores[float(row["level"])] = float(row["score"])
    return kinds


def noise_figures(kinds: Mapping[str, Scores], metric: str) -> tuple[Figure, ...]:
    """Score over level, a figure for each kind of disturbance and a line for each modality."""
    figures = []
    for kind, found in kinds.items():
        series = [
            Series(name, sorted(scores.items()), name in _TOGETHER, dots=True, colour=number)
            for number, (name, scores) in enumerate(found.items())
        ]
        level = "chance that it is missing" if kind == "missing" else "level"
        words, score = f"{metric_name(metric)} under {kind} disturbance", metric_name(metric)
        chart = line_chart(words, series, level, y_label=f"test {score}", size=_SIZE)
        if chart:
            figures.append(Figure(chart, f"{score}, {kind}", tuple(series)))
    return tuple(figures)


def worth_figures(disturbed: Sequence[Mapping[str, Any]], metric: str) -> tuple[Figure, ...]:
    """What each modality is worth as noise on it grows, a figure for each kind of noise."""
    kinds: dict[str, list[Series]] = {}
    for one in worth_under_noise(disturbed):
        if not one.everywhere:
            lines, points = kinds.setdefault(one.disturbance, []), sorted(one.values.items())
            lines.append(Series(one.modality, points, dots=True, colour=len(lines)))
    figures = []
    for kind, series in kinds.items():
        words = f"What each modality is worth under {kind} noise on it"
        value = f"Shapley value ({metric_name(metric)})"
        chart = line_chart(words, series, "level", y_label=value, size=_SIZE)
        if chart:
            figures.append(Figure(chart, f"worth of what is noisy, {kind}", tuple(series)))
    return tuple(figures)


def modality_file(
    use: Sequence[Mapping[str, Any]], disturbed: Sequence[Mapping[str, Any]], metric: str
) -> str:
    """The text of `modalities.svg`.

    Args:
        use: rows of `ModalityUse.rows`.
        disturbed: rows with disturbance, modality, level, score and values; may be empty.
        metric: what the score is.
    """
    under_noise = noise_figures(scores_by_kind(disturbed), metric)
    figures = [use_figure(use, metric), *under_noise, *worth_figures(disturbed, metric)]
    return figure_file("Modalities", figures)
