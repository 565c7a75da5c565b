"""How often classes are taken for each other, as a square of counts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from meritnas.report.charts.rows import short_name
from meritnas.report.charts.svg import LETTER, NARROW_LETTER, Picture, svg, text

_ROW, _LEAST, _DIGIT = 28.0, 40.0, 7.4
_TOP, _BELOW = 40.0, 8.0
_STRONGEST = 0.75
_MOST_LETTERS = 18
_WIDEST = 480.0
"""Of names above their columns; where they would take more, all columns have numbers."""
_WRONG = 0.15
"""How deep the colour of what is wrong is at least."""


def confusion_matrix(title: str, names: Sequence[str], counts: Sequence[Sequence[int]]) -> Picture:
    """A square of counts: a row for each true class, a column for each answer.

    What is right is of one colour and what is wrong of another, the deeper the larger its share of
    the row. Every cell says its share when pointed at, and to a reader of the screen.

    Args:
        title: for those who cannot see it.
        names: of the classes.
        counts: [classes, classes].
    """
    shown = [short_name(name, _MOST_LETTERS) for name in names]
    digits = max(len(f"{count:,}") for row in counts for count in row)
    narrow = max(_LEAST, 14.0 + _DIGIT * digits)
    named = max(narrow, 10.0 + LETTER * max(map(len, shown)))
    numbered = named * len(names) > _WIDEST and named > narrow
    wide = narrow if numbered else named
    letters = max(4, *map(len, shown))
    left = 14.0 + NARROW_LETTER * letters + (26.0 if numbered else 0.0)
    parts = [
        text(left, 14, "answer", "label", "start"),
        text(2, _TOP - 8, "truth", "label", "start"),
    ]
    for row, name in enumerate(shown):
        y, across = _TOP + row * _ROW, left + (row + 0.5) * wide
        end = left - 30 if numbered else left - 8
        parts.append(text(end, y + _ROW / 2 + 4, name, "tick", "end"))
        if numbered:
            parts.append(text(left - 8, y + _ROW / 2 + 4, str(row + 1), "tick ink", "end"))
        parts.append(text(across, _TOP - 8, str(row + 1) if numbered else name, "tick ink"))
        every = sum(counts[row])
        for column, count in enumerate(counts[row]):
            share = count / every if every else 0.0
            words = f"{names[row]} answered {names[column]}: {count:,} of {every:,} ({share:.1%})"
            parts += _cell(left + column * wide, y, wide, count, share, words, row == column)
    width = left + wide * len(names) + 4
    bottom = _TOP + _ROW * len(names) + _BELOW
    return svg(title, width, bottom, parts, "chart matrix", least=width, role="group")


def _cell(
    x: float, y: float, wide: float, count: int, share: float, words: str, right: bool
) -> list[str]:
    """A box with its count; an empty one where there is none."""
    kind = ("plus" if right else "minus") if count else "none"
    deep = _STRONGEST * share if right else _WRONG + (_STRONGEST - _WRONG) * share
    depth = f' fill-opacity="{deep:.3f}"' if count else ""
    box = (
        f'<rect class="heat {kind}"{depth} x="{x + 1:.1f}" y="{y + 1:.1f}" '
        f'width="{wide - 2:.1f}" height="{_ROW - 2:.1f}" rx="3">'
        f"<title>{escape(words)}</title></rect>"
    )
    number = text(x + wide / 2, y + _ROW / 2 + 4, f"{count:,}", "number small")
    return [box, number] if count else [box]
