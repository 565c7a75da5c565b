"""A square of pairs, coloured by what two parts are worth together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from meritnas.report.charts.rows import short_name
from meritnas.report.charts.svg import NARROW_LETTER, Picture, svg, text

MOST_NAMES = 24
"""Rows beyond these are left out; a browser draws the square of them."""

_MOST_NUMBERED = 12
_DIGIT = 6.8
_ROW, _SMALL = 28.0, 20.0
_TOP = 20.0
_STRONGEST = 0.75
_LEGEND = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
_SWATCH = 24.0


def pair_matrix(
    title: str,
    names: Sequence[str],
    values: Mapping[tuple[int, int], float],
    ends: tuple[str, str],
) -> Picture:
    """A square of pairs, coloured from the most negative over nothing at 0 to the most positive.

    Columns have the numbers of the rows. Few cells show their values; all say them when pointed
    at, and to a reader of the screen.

    Args:
        title: for those who cannot see it.
        names: of the rows, which are those of the columns, too.
        values: by the numbers of two rows, the smaller first; others stay empty.
        ends: what the two ends of the colours mean, the negative one first.
    """
    for (a, b), value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"the value of {names[a]} and {names[b]} is not finite")
    most = max((abs(value) for value in values.values()), default=0.0)
    shown = _texts(values, most) if len(names) <= _MOST_NUMBERED else {}
    tall = _ROW if shown else _SMALL
    wide = max([tall, *(14 + _DIGIT * len(each) for each in shown.values())])
    left = 34.0 + NARROW_LETTER * max(len(short_name(name)) for name in names)
    parts = []
    for row, name in enumerate(names):
        y = _TOP + row * tall
        parts.append(text(left - 28, y + tall / 2 + 4, short_name(name), "tick", "end"))
        parts.append(text(left - 8, y + tall / 2 + 4, str(row + 1), "tick ink", "end"))
        parts.append(text(left + (row + 0.5) * wide, _TOP - 6, str(row + 1), "tick ink"))
        for column, other in enumerate(names):
            x, pair = left + column * wide, (min(row, column), max(row, column))
            if row == column or pair not in values:
                parts.append(_cell(x, y, wide, tall))
                continue
            words = f"{name} and {other}: {values[pair]:+.4g}"
            parts.append(_cell(x, y, wide, tall, values[pair] / (most or 1.0), words))
            if pair in shown:
                parts.append(text(x + wide / 2, y + tall / 2 + 4, shown[pair], "number small"))
    bottom = _TOP + tall * len(names)
    parts += _legend(bottom + 14, most, ends)
    width = max(left + wide * len(names), _SWATCH * len(_LEGEND)) + 4
    return svg(title, width, bottom + 66, parts, "chart matrix", least=width, role="group")


def _cell(x: float, y: float, wide: float, tall: float, share: float = 0.0, words: str = "") -> str:
    """A box; `share` from -1 to 1 is its colour, and without words it is an empty one."""
    kind = ("plus" if share > 0 else "minus") if words else "empty"
    inner = f"<title>{escape(words)}</title>" if words else ""
    depth = f' fill-opacity="{_STRONGEST * abs(share):.3f}"' if words else ""
    return (
        f'<rect class="heat {kind}"{depth} x="{x + 1:.1f}" y="{y + 1:.1f}" '
        f'width="{wide - 2:.1f}" height="{tall - 2:.1f}" rx="3">{inner}</rect>'
    )


def _legend(y: float, most: float, ends: tuple[str, str]) -> list[str]:
    """The colours from end to end, what they stand for, and what the ends mean."""
    if most == 0.0:
        return []
    right = _SWATCH * len(_LEGEND)
    parts = [
        _cell(number * _SWATCH, y, _SWATCH, 14, share, f"{share * most:+.2g}")
        for number, share in enumerate(_LEGEND)
    ]
    parts.append(text(1, y + 28, f"{-most:+.2g}", "tick ink", "start"))
    parts.append(text(right / 2, y + 28, "0", "tick ink"))
    parts.append(text(right - 1, y + 28, f"{most:+.2g}", "tick ink", "end"))
    parts.append(text(1, y + 44, ends[0], "tick", "start"))
    return [*parts, text(right - 1, y + 44, ends[1], "tick", "end")]


def _texts(values: Mapping[tuple[int, int], float], most: float) -> dict[tuple[int, int], str]:
    """The values, all with as many decimals as the largest needs for two digits."""
    size = math.floor(math.log10(most)) if most else 0
    if not -5 < size < 6:
        return {pair: f"{value:+.0e}" for pair, value in values.items()}
    form, least = f"+.{max(0, 1 - size)}f", 0.5 * 10.0 ** -max(0, 1 - size)
    return {
        pair: f"{value:{form}}" if abs(value) > least else "0" for pair, value in values.items()
    }
