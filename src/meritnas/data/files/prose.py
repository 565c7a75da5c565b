"""Running text that was taken for a table."""

from __future__ import annotations

from meritnas.data.files.separator import find_separator, splits_alike

_LEAST_WORDS_OF_A_LINE = 4.0
_LEAST_WORDS_ALONE = 30
"""Of a text without line ends; a header without rows has fewer."""
_WORDS = 0.7
"""The share of what stands between blanks that is words."""
_MARKS = "\t|"
"""In every other line of a table at least, where they separate its fields; never of a text."""
_SEMICOLON = ";"
_WORDS_OF_A_SEMICOLON = 10
"""Fewer words between two of them are fields of a table."""
_AROUND = ".,;:!?\"'()[]-_*\u2013\u2014\u2018\u2019\u201c\u201d"
_WITHIN = str.maketrans("", "", "-'\u2019\u2014")


def is_prose(sample: str) -> bool:
    """Tells whether the first lines of a file are running text rather than rows of a table.

    In running text nothing splits the lines into equally many fields, and most of what stands
    between blanks is words.

    Args:
        sample: The first lines.
    """
    lines = [line for line in sample.splitlines() if line.strip()]
    words = [word.strip(_AROUND) for word in sample.split()]
    if len(lines) < 2 and len(words) < _LEAST_WORDS_ALONE:
        return False
    if len(words) < _LEAST_WORDS_OF_A_LINE * len(lines):
        return False
    if any(sum(mark in line for line in lines) * 2 >= len(lines) for mark in _MARKS):
        return False
    if sample.count(_SEMICOLON) * _WORDS_OF_A_SEMICOLON >= len(words):
        return False
    written = sum(word.translate(_WITHIN).isalpha() for word in words)
    return written >= _WORDS * len(words) and not splits_alike(sample, find_separator(sample))
