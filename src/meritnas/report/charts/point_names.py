"""Names beside the points of a chart, where no two of them meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meritnas.report.charts.svg import LETTER, text

_AWAY, _ABOVE, _BELOW, _HEIGHT = 7.0, -7.0, 15.0, 13.0
_APART = 6.0

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

Segment = tuple[tuple[float, float], tuple[float, float]]
"""A straight line from one place to another."""


def point_names(
    points: Sequence[tuple[float, float, str]], lines: Sequence[Segment], inside: Box
) -> list[str]:
    """The names of points (x, y, name); one that has no room is left out.

    Args:
        points: their places and names.
        lines: what names should not be written across, if that can be avoided.
        inside: where names may be.
    """
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in points]
    crossed = [place for each in lines for place in _along(each)]
    parts = []
    for x, y, name in sorted(points, reverse=True):  # the largest has the first choice
        free = [
            (box, at)
            for box, at in _places(x, y, LETTER * len(name))
            if _within(box, inside) and not any(_meet(box, other) for other in taken)
        ]
        if not free:
            continue
        box, (left, down, anchor) = min(free, key=lambda each: _hits(each[0], crossed))
        taken.append(box)
        parts.append(text(left, down, name, "tick name", anchor))
    return parts


def _places(x: float, y: float, wide: float) -> Iterator[tuple[Box, tuple[float, float, str]]]:
    """Boxes around a point that its name may fill, and how it is written there."""
    for down in (y + _BELOW, y + _ABOVE):
        top, bottom = down - _HEIGHT + 2, down + 2
        yield (x + _AWAY, top, x + _AWAY + wide, bottom), (x + _AWAY, down, "start")
        yield (x - _AWAY - wide, top, x - _AWAY, bottom), (x - _AWAY, down, "end")


def _along(segment: Segment) -> Iterator[tuple[float, float]]:
    """Places on a line, a few units apart."""
    (x1, y1), (x2, y2) = segment
    count = int(max(abs(x2 - x1), abs(y2 - y1)) / _APART) + 1
    for k in range(count + 1):
        yield x1 + (x2 - x1) * k / count, y1 + (y2 - y1) * k / count


def _hits(box: Box, places: Sequence[tuple[float, float]]) -> int:
    return sum(box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in places)


def _within(box: Box, other: Box) -> bool:
    return box[0] >= other[0] and box[1] >= other[1] and box[2] <= other[2] and box[3] <= other[3]


def _meet(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
