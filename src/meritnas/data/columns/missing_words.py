"""Words that people write where a value is missing."""

from __future__ import annotations

from collections.abc import Sequence

_WORDS = frozenset(
    (
        *("-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*", "?", "??", "???"),
        *("unknown", "unk", "unknown.", "not known", "undefined", "unspecified", "not specified"),
        *("missing", "none", "nil", "null", "nan", "nat", "na", "n/a", "n.a.", "n.a", "<na>"),
        *("n/d", "n.d.", "nd", "not available", "not applicable", "not recorded", "no data"),
        *("tbd", "tba", "tbc", "pending", "blank", "empty", "(blank)", "(empty)", "(null)"),
        *("#n/a", "#na", "#value!", "#ref!", "#div/0!", "#num!", "#name?", "k.a.", "k. a."),
        *("keine angabe", "unbekannt", "inconnu", "desconocido", "sin datos", "n.c."),
        *("0000-00-00", "0000-00-00 00:00:00", "00/00/0000", "00.00.0000"),
    )
)

_FEW = 0.05
"""So many cells of a column may be anything; it stays what the others are."""

_MANY = 0.5
"""So many cells may be words for a missing value."""


def stand_for_missing(values: Sequence[object]) -> bool:
    """Whether all of these values are words for a missing value."""
    return all(str(value).strip().casefold() in _WORDS for value in values)


def are_few(strange: Sequence[object], count: int, present: int) -> bool:
    """Whether a column stays a number, or a date, although some cells are none.

    Args:
        strange: The different values that are none.
        count: How many cells hold one of them.
        present: How many cells hold anything.
    """
    return count <= (_MANY if stand_for_missing(strange) else _FEW) * present
