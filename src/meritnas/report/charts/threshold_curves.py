"""ROC and precision-recall curves, with the point of the threshold that a network answers by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.charts.figure import Figure
from meritnas.report.charts.lines import Series, line_chart

_BOUNDS = (0.0, 1.02)


def roc_figure(curve: Mapping[str, Any], positive: str, threshold: float) -> Figure:
    """Positives found against negatives taken for positive; `curve` is as `failures` has it."""
    found = _curve(curve["points"], f"area {curve['area']:.3f}", "false", "found")
    legend = (found, _guess([(0.0, 0.0), (1.0, 1.0)]))
    series = (*legend, *_chosen(curve["chosen"], threshold))
    title = f"ROC curve of {positive}"
    label = f"share of others taken for {positive}"
    chart = line_chart(title, series, label, _BOUNDS, y_label=f"share of {positive} found")
    return Figure(chart, title, legend)


def precision_recall_figure(curve: Mapping[str, Any], positive: str, threshold: float) -> Figure:
    """How much of what is answered is right against how much is found."""
    name = f"average precision {curve['area']:.3f}"
    found = _curve(curve["points"], name, "found", "right")
    level = float(curve["guess"])
    guess = _guess([(0.0, level), (1.0, level)])
    legend = (found, guess)
    series = (*legend, *_chosen(curve["chosen"], threshold))
    title = f"Precision and recall of {positive}"
    label = f"recall: share of {positive} found"
    chart = line_chart(title, series, label, _BOUNDS, y_label="precision: share of answers right")
    return Figure(chart, title, legend)


def _curve(points: Sequence[Sequence[float]], name: str, across: str, up: str) -> Series:
    words = [f"threshold {cut:.3g}: {x:.1%} {across}, {y:.1%} {up}" for x, y, cut in points]
    return Series(name, [(x, y) for x, y, _ in points], said=words)


def _guess(points: Sequence[tuple[float, float]]) -> Series:
    return Series("guessing", points, dashed=True, colour=7)


def _chosen(point: Sequence[float] | None, threshold: float) -> list[Series]:
    """The point of the network's own threshold, if it ever answers so."""
    if point is None:
        return []
    place, name = (point[0], point[1]), f"threshold {threshold:.3g}"
    return [Series(name, [place], dots=True, colour=1, joined=False, names=[name])]
