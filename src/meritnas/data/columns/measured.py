"""Numbers as people write them: with currencies, units, thousands marks and words for missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from meritnas.data.columns.decimal_marks import Mark
from meritnas.data.columns.distinct import Distinct
from meritnas.data.columns.missing_words import are_few, stand_for_missing

_SYMBOLS = "$€£¥₹₽₩₺₫₪฿"
_CODES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|CNY|INR|BRL|MXN|ZAR|TRY|RUB|KRW|SGD"
)
_BEFORE = rf"(?:[A-Za-z]{{0,3}}[{_SYMBOLS}]|(?:{_CODES})\b|Rs\.?|kr\.?)"
_BLANKS = " \u00a0\u202f\u2009"
_APOSTROPHES = "'\u2019"
_MINUS = "\u2212"
_DIGITS = rf"\d+(?:[.,{_APOSTROPHES}{_BLANKS}]\d+)*\.?|[.,]\d+"
_UNIT = rf"(?:[^\W\d_]|[%‰°\"{_APOSTROPHES}\u2032\u2033{_SYMBOLS}])[^\n;]{{0,19}}?"
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+\-{_MINUS}]?)\s*(?P<before>{_BEFORE})?\s*(?P<second>[+\-{_MINUS}]?)"
    rf"(?P<digits>{_DIGITS})(?P<power>[eE][+-]?\d+)?\s*(?P<after>{_UNIT})?\s*(?P<close>\))?"
)
_GROUPS = rf"[{_BLANKS}{_APOSTROPHES}]"
_WITH_COMMA = re.compile(rf"(\d+|\d{{1,3}}((\.|{_GROUPS})\d{{3}})+)(,\d*)?|,\d+")
_WITH_POINT = re.compile(rf"(\d+|\d{{1,3}}((,|{_GROUPS})\d{{3}})+)(\.\d*)?|\.\d+")
_BARE_COMMA = re.compile(r"\d+,\d+")

_MAGNITUDES: Mapping[str, float] = MappingProxyType(
    {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "bn": 1e9, "B": 1e9, "Mrd": 1e9}
)
_FEW_TO_TRY = 20
_MANY_NUMBERS = 10
"""With fewer different ones, cells that are none make categories of them, such as 1, 2, 3, 4a."""


class _Cell(NamedTuple):
    """A cell that begins like a number: its digits as written, and what stands around them."""

    digits: str
    power: str
    negative: bool
    unit: str


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
        found = self._values(distinct.values)
        strange = [
            value for value, number in zip(distinct.values, found, strict=True) if number is None
        ]
        numbers = [np.nan if number is None else number for number in found]
        return distinct.spread(np.array(numbers, dtype=np.float64), np.nan), strange

    def _values(self, values: Sequence[object]) -> list[float | None]:
        return [self._value(_cell(str(value))) for value in values]

    def _value(self, cell: _Cell | None) -> float | None:
        if cell is None:
            return None
        unit, factor = cell.unit, 1.0
        if self.magnitudes:
            unit, factor = _without_magnitude(unit)
        if unit and _key(unit) != _key(self.unit):
            return None
        number = _number(cell, self.mark)
        return None if number is None else number * factor


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
    if not asked and 2 * sum(_cell(text) is not None for text in some) < len(some):
        return None
    cells = [_cell(str(value)) for value in distinct.values]
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


def _way(
    cells: Sequence[_Cell | None], counts: Sequence[int], known: Mark | None
) -> Written | None:
    """The unit of most cells, and the decimal mark with which most can be read."""
    units: Counter[str] = Counter()
    for cell, count in zip(cells, counts, strict=True):
        if cell is not None:
            units[cell.unit] += count
    if not units:
        return None
    bare = {_without_magnitude(unit)[0] for unit in units}
    large = {unit for unit in units if _without_magnitude(unit)[1] > 1}
    plain = any(unit not in large for unit in units)
    several = len(large) > 1 or (bool(large) and plain and "" not in bare)
    magnitudes = several and len({_key(unit) for unit in bare}) == 1
    named = units
    if magnitudes:
        named = Counter()
        for unit, count in units.items():
            named[_without_magnitude(unit)[0]] += count
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
        by_key[_key(unit)] = by_key.get(_key(unit), 0) + count
    named = {key: count for key, count in by_key.items() if key}
    if not named:
        return ""
    key = max(named, key=lambda each: named[each])
    if (len(named) > 1 or (len(key) == 1 and key.isalpha())) and by_key.get("", 0) > named[key]:
        return ""  # 12, 14, 12a, 15b: numbers of houses
    spellings = {unit: count for unit, count in units.items() if _key(unit) == key}
    return max(spellings, key=lambda each: (spellings[each], each))


def _key(unit: str) -> str:
    """A unit for comparison: kg, KG and Kg are one, and so are year and years; not mW and MW."""
    plain = unit.replace(" ", "").rstrip(".")
    if len(plain) > 2 and plain.endswith("s"):
        plain = plain[:-1]
    return plain if plain[:1] in ("m", "M", "p", "P") else plain.casefold()


def _without_magnitude(unit: str) -> tuple[str, float]:
    """A unit without what stands for thousands or more, and by how much that multiplies."""
    for name, factor in _MAGNITUDES.items():
        if unit == name:
            return "", factor
        for rest in (unit.removeprefix(f"{name} "), unit.removesuffix(f" {name}")):
            if rest != unit:
                return rest, factor
    return unit, 1.0


def _cell(text: str) -> _Cell | None:
    found = _CELL.fullmatch(text.strip())
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    signs = found["sign"] + found["second"]
    if len(signs) > 1:
        return None
    negative = signs in ("-", _MINUS) or (found["open"] is not None and not signs)
    around = (found["before"] or "", (found["after"] or "").strip())
    # Magnitudes stand apart, so that they can be told: "$ M" of $3M.
    unit = " ".join(part for part in around if part)
    return _Cell(found["digits"], found["power"] or "", negative, unit)


def _number(cell: _Cell, mark: Mark) -> float | None:
    pattern, other = (_WITH_COMMA, ".") if mark == "," else (_WITH_POINT, ",")
    if not pattern.fullmatch(cell.digits):
        return None
    plain = re.sub(rf"[{re.escape(other)}{_BLANKS}{_APOSTROPHES}]", "", cell.digits).replace(
        ",", "."
    )
    number = float(plain + cell.power)
    return -number if cell.negative else number


def _only_bare_commas(cells: Sequence[_Cell | None]) -> bool:
    """Whether all that tells numbers from plain ones is a comma, as in 1,5: a list of two codes?"""
    commas = [cell.digits for cell in cells if cell is not None and "," in cell.digits]
    return bool(commas) and all(_BARE_COMMA.fullmatch(digits) for digits in commas)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
