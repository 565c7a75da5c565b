"""Stacked areas: the share of every option of a decision over the steps of a search."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from meritnas.report.charts.rows import short_name
from meritnas.report.charts.svg import Picture, line, svg, text, tick_text

_WIDTH, _HEIGHT = 330.0, 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 8.0, 212.0, 6.0, 126.0
_MOST = 100
_LABEL = 11.0


def share_chart(
    title: str,
    steps: Sequence[int],
    shares: Sequence[Sequence[float]],
    names: Sequence[str],
    chosen: str | None,
) -> Picture:
    """Stacked areas: the share of every option over the steps of a search.

    Args:
        title: for those who cannot see it.
        steps: ascending.
        shares: [steps, options], rows that sum to 1.
        names: of the options.
        chosen: the option that is highlighted.
    """
    kept = _kept(len(steps))
    last = max(steps[-1] - steps[0], 1)
    across = [_LEFT + (steps[k] - steps[0]) / last * (_RIGHT - _LEFT) for k in kept]
    if len(kept) == 1:
        kept, across = kept * 2, [_LEFT, _RIGHT]
    below = [0.0] * len(kept)
    areas, labels = [], []
    for i, name in enumerate(names):
        above = [low + float(shares[k][i]) for low, k in zip(below, kept, strict=True)]
        outline = [(x, _y(v)) for x, v in zip(across, above, strict=True)]
        outline += [(x, _y(v)) for x, v in zip(reversed(across), reversed(below), strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
        kind = "share chosen" if name == chosen else f"share other{i % 2}"
        share = above[-1] - below[-1]
        areas.append(
            f'<polygon class="{kind}" points="{path}"><title>{escape(name)}: '
            f"{share:.0%}</title></polygon>"
        )
        labels.append((_y((above[-1] + below[-1]) / 2), share, name))
        below = above
    parts = [*areas, *_labels(labels, chosen), line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")]
    parts.append(text(_LEFT, _HEIGHT - 9, tick_text(steps[0]), anchor="start"))
    parts.append(text(_RIGHT, _HEIGHT - 9, f"step {tick_text(steps[-1])}", anchor="end"))
    return svg(title, _WIDTH, _HEIGHT, parts)


def _y(share: float) -> float:
    return _BOTTOM - min(1.0, max(0.0, share)) * (_BOTTOM - _TOP)


def _labels(found: list[tuple[float, float, str]], chosen: str | None) -> list[str]:
    """Names beside the areas where they end: the chosen one, and those with room."""
    taken: list[float] = []
    parts = []
    for y, share, name in sorted(found, key=lambda each: (each[2] != chosen, -each[1])):
        if all(abs(y - other) >= _LABEL for other in taken):
            taken.append(y)
            kind = "tick strong mid" if name == chosen else "tick small"
            words = f"{short_name(name, 12)} {share:.0%}"
            parts.append(text(_RIGHT + 5, y + 3.5, words, kind, "start"))
    return parts


def _kept(count: int) -> list[int]:
    """Which steps are drawn: all, or this many with the first and the last."""
    if count <= _MOST:
        return list(range(count))
    return [round(k * (count - 1) / (_MOST - 1)) for k in range(_MOST)]
