"""Numbers with units as single cells hold them; needs numpy only, so that it may leave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from meritnas.data.columns.cells import number_of
from meritnas.data.columns.decimal_marks import Mark

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

_MAGNITUDES: Mapping[str, float] = MappingProxyType(
    {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "bn": 1e9, "B": 1e9, "Mrd": 1e9}
)


_UNITS = 1 << 16
"""That are remembered: the same few are asked for with every cell of a column."""


class Cell(NamedTuple):
    """A cell that begins like a number: its digits as written, and what stands around them."""

    digits: str
    power: str
    negative: bool
    unit: str


def measured_number(cell: object, unit: str, mark: Mark, magnitudes: bool) -> float:
    """The number that a cell holds in a unit, or without one; NaN for what is none.

    Args:
        cell: As it is written.
        unit: Of its column; empty for none.
        mark: The decimal mark.
        magnitudes: Whether k, M and bn stand for thousands, millions and billions.
    """
    found = None
    if isinstance(cell, str):
        found = number_in(read_cell(cell), unit, mark, magnitudes)
    return number_of(cell) if found is None else found


def number_in(cell: Cell | None, unit: str, mark: Mark, magnitudes: bool) -> float | None:
    """The same of a cell that was taken apart; None for one that begins like no number."""
    if cell is None:
        return None
    own, factor = cell.unit, 1.0
    if magnitudes:
        own, factor = without_magnitude(own)
    if own and unit_key(own) != unit_key(unit):
        return None
    number = _number(cell, mark)
    return None if number is None else number * factor


@lru_cache(_UNITS)
def unit_key(unit: str) -> str:
    """A unit for comparison: kg, KG and Kg are one, and so are year and years; not mW and MW."""
    plain = unit.replace(" ", "").rstrip(".")
    if len(plain) > 2 and plain.endswith("s"):
        plain = plain[:-1]
    return plain if plain[:1] in ("m", "M", "p", "P") else plain.casefold()


@lru_cache(_UNITS)
def without_magnitude(unit: str) -> tuple[str, float]:
    """A unit without what stands for thousands or more, and by how much that multiplies."""
    for name, factor in _MAGNITUDES.items():
        if unit == name:
            return "", factor
        for rest in (unit.removeprefix(f"{name} "), unit.removesuffix(f" {name}")):
            if rest != unit:
                return rest, factor
    return unit, 1.0


def read_cell(text: str) -> Cell | None:
    """Takes a cell apart; None for one that begins like no number."""
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
    return Cell(found["digits"], found["power"] or "", negative, unit)


def _number(cell: Cell, mark: Mark) -> float | None:
    pattern, other = (_WITH_COMMA, ".") if mark == "," else (_WITH_POINT, ",")
    if not pattern.fullmatch(cell.digits):
        return None
    plain = re.sub(rf"[{re.escape(other)}{_BLANKS}{_APOSTROPHES}]", "", cell.digits).replace(
        ",", "."
    )
    number = float(plain + cell.power)
    return -number if cell.negative else number
