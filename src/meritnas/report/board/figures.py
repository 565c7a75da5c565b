"""The charts of runs on the same data; all that is drawn of a run has a class of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import fmean, stdev

from meritnas.report.board.entry import Point
from meritnas.report.board.grounds import Ground, Listed
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.lines import Series, line_chart
from meritnas.report.charts.rows import names_width, row_axis, short_name
from meritnas.report.charts.scale import Scale, padded
from meritnas.report.charts.svg import COLOURS, group, line, svg, text, thinned
from meritnas.report.numbers import count_text, score_text

_SIZE = (440.0, 280.0)
_MOST_POINTS = 60
"""Of a curve: there may be hundreds on a page."""

_CURVES = {
    "trained": ("epoch", "validation loss of the network, trained alone"),
    "train_loss": ("step", "training loss of shared weights while searching"),
    "reward": ("step", "reward of what was tried while searching"),
}
_ROW, _TOP, _WIDTH = 42.0, 8.0, 440.0


def ground_figures(ground: Ground) -> tuple[Figure, ...]:
    """All charts of runs on the same data; what there are no numbers for is not there."""
    found = [_score_figure(ground), *(_strategies(ground, *one) for one in ground.contests())]
    found += [_curve_figure(ground.runs, name) for name in _CURVES]
    return tuple(figure for figure in found if figure is not None)


def _score_figure(ground: Ground) -> Figure | None:
    """Score against parameters: the networks of all runs, with their trade-off curves."""
    series: list[Series] = []
    groups: list[str] = []
    for one in ground.scored:
        points = sorted(set(one.entry.points), key=lambda point: point.params)
        series.append(
            Series(
                one.entry.name,
                [(point.params, point.score) for point in points],
                dots=True,
                ranges=[point.reach for point in points],
                colour=one.colour,
                names=[_said(one, point) for point in points],
            )
        )
        groups.append(one.group)
    if not series:
        return None
    caption = f"{ground.metric} against parameters"
    smallest = min(x for each in series for x, _ in each.points)
    chart = line_chart(
        caption,
        series,
        "parameters",
        y_label=ground.metric,
        log_x=smallest > 0,
        size=_SIZE,
        groups=groups,
    )
    return Figure(chart, caption, _legend(ground.scored, dots=True)) if chart else None


def _said(one: Listed, point: Point) -> str:
    """What a point says when it is pointed at."""
    score = score_text(point.score, point.spread or None)
    params = count_text(int(point.params))
    return f"{one.entry.name}, {one.entry.strategy}: {point.network}, {score}, {params} parameters"


def _curve_figure(runs: Sequence[Listed], name: str) -> Figure | None:
    """A curve of every run that has one."""
    label, caption = _CURVES[name]
    own = [one for one in runs if len(one.entry.curves.get(name, ())) > 1]
    series = [
        Series(
            f"{one.entry.name}, {one.entry.strategy}",
            thinned(one.entry.curves[name], _MOST_POINTS),
            colour=one.colour,
        )
        for one in own
    ]
    chart = line_chart(caption, series, label, size=_SIZE, groups=[one.group for one in own])
    return Figure(chart, caption, _legend(own, dots=False)) if chart else None


def _legend(runs: Sequence[Listed], *, dots: bool) -> tuple[Series, ...]:
    """The colours of strategies."""
    colours = {one.entry.strategy: one.colour for one in runs}
    return tuple(
        Series(name, (), dots=dots, joined=not dots, colour=colour)
        for name, colour in sorted(colours.items())
    )


def _strategies(ground: Ground, limits: str, runs: Sequence[Listed]) -> Figure | None:
    """The scores of strategies on the same data and under the same limits, a row for each."""
    by_name: dict[str, list[Listed]] = {}
    for one in runs:
        by_name.setdefault(one.entry.strategy, []).append(one)
    counts = {
        name: f"{len(own)} runs" if len(own) > 1 else "1 run" for name, own in by_name.items()
    }
    left = names_width([*map(short_name, by_name), *counts.values()])
    scores = [one.entry.points[0].score for one in runs]
    x = Scale(*padded(min(scores), max(scores)), left, _WIDTH - 14.0)
    bottom = _TOP + _ROW * len(by_name)
    parts = row_axis(x, 4.0, bottom, ground.metric, _WIDTH)
    for number, (name, own) in enumerate(by_name.items()):
        y = _TOP + _ROW * (number + 0.5)
        parts.append(text(left - 8, y - 2, short_name(name), "tick ink", "end"))
        parts.append(text(left - 8, y + 13, counts[name], "tick", "end"))
        parts += _strategy_row(own, x, y)
    parts.append(line(x.start, 4.0, x.start, bottom, "axis"))
    caption = f"Strategies, {limits or 'without limits'}"
    title = f"{ground.metric} by strategy, {limits or 'without limits'}"
    return Figure(svg(title, _WIDTH, bottom + 40, parts, "chart plot"), caption)


def _strategy_row(runs: Sequence[Listed], x: Scale, y: float) -> list[str]:
    """A dot for each run; of several the mean as a diamond, and a line for the spread."""
    parts = [group(one.group, [_dot(one, x, y)]) for one in runs]
    scores = [one.entry.points[0].score for one in runs]
    if len(scores) > 1:
        mean, spread = fmean(scores), stdev(scores)
        low, high = (min(x.high, max(x.low, end)) for end in (mean - spread, mean + spread))
        parts.append(line(x(low), y, x(high), y, "whisker"))
        parts.append(
            f'<path class="mean" d="M{x(mean) - 5:.1f},{y:.1f} l5,-5 l5,5 l-5,5 z"><title>'
            f"{escape(runs[0].entry.strategy)}: {score_text(mean, spread)}, mean of {len(scores)}"
            "</title></path>"
        )
    return parts


def _dot(one: Listed, x: Scale, y: float) -> str:
    point = one.entry.points[0]
    return (
        f'<circle class="f{one.colour % COLOURS} faded" cx="{x(point.score):.1f}" cy="{y:.1f}" '
        f'r="4.5"><title>{escape(_said(one, point))}</title></circle>'
    )
