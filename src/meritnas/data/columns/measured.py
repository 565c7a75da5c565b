"""Numbers as people write them: with currencies, units, thousands marks and words for missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from meritnas.data.columns.decimal_marks import Mark
from meritnas.data.columns.distinct import Distinct
from meritnas.data.columns.measured_cells import (
    Cell,
    measured_number,
    number_in,
    read_cell,
    unit_key,
    without_magnitude,
)
from meritnas.data.columns.missing_words import are_few, stand_for_missing

_BARE_COMMA = re.compile(r"\d+,\d+")
_FEW_TO_TRY = 20
_MANY_NUMBERS = 10
"""With fewer different ones, cells that are none make categories of them, such as 1, 2, 3, 4a."""


@dataclass(frozen=True)
class Written:
    """How the numbers of a column are written that are text.

    Attributes:
        unit: What stands before or behind them, such as $, % or kg; empty for nothing.
        mark: The decimal mark.
        magnitudes: Whether k, M and bn stand for thousands, millions and billions.
        unread: How many cells of the table are no such numbers; they count as missing, and so do
            those of new files. Where there are none, new ones are an error.
        example: One of them.
    """

    unit: str = ""
    mark: Mark = "."
    magnitudes: bool = False
    unread: int = 0
    example: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Written | None:
        """Returns what `to_json` gave; None for none."""
        return None if value is None else cls(**value)

    def to_json(self) -> dict[str, Any]:
        """Returns plain JSON values."""
        return asdict(self)

    def read(self, distinct: Distinct) -> tuple[np.ndarray, list[object]]:
        """Reads a column.

        Returns:
            Float64 [n], NaN for missing and for what cannot be read, and the different values that
            cannot.
        """
        way = self.unit, self.mark, self.magnitudes
        found = [measured_number(value, *way) for value in distinct.values]
        numbers = np.array(found, dtype=np.float64)
        strange = [distinct.values[i] for i in np.flatnonzero(np.isnan(numbers))]
        return distinct.spread(numbers, np.nan), strange

    def _value(self, cell: Cell | None) -> float | None:
        return number_in(cell, self.unit, self.mark, self.magnitudes)


def find_written(distinct: Distinct, known: Mark | None, *, asked: bool = False) -> Written | None:
    """Finds out how the numbers of a text column are written, if they are numbers.

    They are if all cells are numbers in one unit, or without one, but for a few: at most one in
    twenty, or words for a missing value such as "unknown" and "-", at most half. Where some cells
    are other things than such words, there are more than 10 different numbers: codes such as 1, 2,
    3, 4a stay categories.

    Args:
        distinct: The column.
        known: The decimal mark of its file, for where 1,234 could be either.
        asked: Whether a user says that it holds numbers: then any number of cells may be none.
    """
    some = list(map(str, distinct.values[:_FEW_TO_TRY]))
    if not asked and 2 * sum(read_cell(text) is not None for text in some) < len(some):
        return None
    cells = [read_cell(str(value)) for value in distinct.values]
    counts = np.bincount(distinct.codes + 1, minlength=len(cells) + 1)[1:].tolist()
    written = _way(cells, counts, known)
    if written is None:
        return None
    values = [written._value(cell) for cell in cells]
    strange = [i for i, value in enumerate(values) if value is None]
    if len(strange) == len(values):
        return None
    unread = sum(counts[i] for i in strange)
    if not asked:
        others = [distinct.values[i] for i in strange]
        codes = len(values) - len(strange) <= _MANY_NUMBERS and not stand_for_missing(others)
        if codes or not are_few(others, unread, sum(counts)):
            return None
        doubtful = written.mark == "," and not written.unit and known != ","
        if doubtful and _only_bare_commas(cells):
            return None  # 1,5 may be anything, where its file has no decimal commas
    if not strange:
        return written
    return replace(written, unread=unread, example=_short(str(distinct.values[strange[0]])))


def _way(cells: Sequence[Cell | None], counts: Sequence[int], known: Mark | None) -> Written | None:
    """The unit of most cells, and the decimal mark with which most can be read."""
    units: Counter[str] = Counter()
    for cell, count in zip(cells, counts, strict=True):
        if cell is not None:
            units[cell.unit] += count
    if not units:
        return None
    bare = {without_magnitude(unit)[0] for unit in units}
    large = {unit for unit in units if without_magnitude(unit)[1] > 1}
    plain = any(unit not in large for unit in units)
    several = len(large) > 1 or (bool(large) and plain and "" not in bare)
    magnitudes = several and len({unit_key(unit) for unit in bare}) == 1
    named = units
    if magnitudes:
        named = Counter()
        for unit, count in units.items():
            named[without_magnitude(unit)[0]] += count
    unit = _most_common(named)
    tried = [Written(unit, mark, magnitudes) for mark in _marks(known)]
    read = [
        sum(
            count
            for cell, count in zip(cells, counts, strict=True)
            if each._value(cell) is not None
        )
        for each in tried
    ]
    return tried[int(np.argmax(read))]


def _marks(known: Mark | None) -> tuple[Mark, Mark]:
    """The decimal marks, first the one that holds where both fit."""
    return (",", ".") if known == "," else (".", ",")


def _most_common(units: Mapping[str, int]) -> str:
    """The unit of a column: its cells may also lack it."""
    by_key: dict[str, int] = {}
    for unit, count in units.items():
        by_key[unit_key(unit)] = by_key.get(unit_key(unit), 0) + count
    named = {key: count for key, count in by_key.items() if key}
    if not named:
        return ""
    key = max(named, key=lambda each: named[each])
    if (len(named) > 1 or (len(key) == 1 and key.isalpha())) and by_key.get("", 0) > named[key]:
        return ""  # 12, 14, 12a, 15b: numbers of houses
    spellings = {unit: count for unit, count in units.items() if unit_key(unit) == key}
    return max(spellings, key=lambda each: (spellings[each], each))


def _only_bare_commas(cells: Sequence[Cell | None]) -> bool:
    """Whether all that tells numbers from plain ones is a comma, as in 1,5: a list of two codes?"""
    commas = [cell.digits for cell in cells if cell is not None and "," in cell.digits]
    return bool(commas) and all(_BARE_COMMA.fullmatch(digits) for digits in commas)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
