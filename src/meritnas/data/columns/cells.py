"""What single cells of a table stand for; needs numpy only, so that it leaves with a network."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import numpy as np

from meritnas.errors import DataError

_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
_NUMBER_TYPES = (int, float, np.integer, np.floating, np.bool_, Decimal)
_TRUTHS = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}


def number_of(cell: object) -> float:
    """The number that a cell holds: NaN for what is none, infinite for what is too large.

    Durations are seconds.
    """
    if isinstance(cell, str):
        text = cell.strip()
        return float(text) if _NUMBER.fullmatch(text) else math.nan
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if not isinstance(cell, _NUMBER_TYPES):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf


def numbers_of(cells: Sequence[object], name: str, *, truths: bool) -> np.ndarray:
    """The numbers that cells of a column hold, float64 [n]; none of the cells is missing.

    Args:
        cells: The cells.
        name: The column's, for errors.
        truths: Whether true and false stand for 1 and 0: what one file calls 1, another calls true.

    Raises:
        DataError: One of them is no number.
    """
    numbers = np.array([number_of(cell) for cell in cells], dtype=np.float64)
    strange = np.isnan(numbers)
    if not strange.any():
        return numbers
    if truths:
        found = [truth_of(cell) for cell in cells]
        if not np.isnan(found).any():
            return np.array(found, dtype=np.float64)
    raise no_number(name, cells[int(np.argmax(strange))])


def truth_of(cell: object) -> float:
    """1 for true, 0 for false, NaN for anything else."""
    return _TRUTHS.get(str(cell).strip().lower(), math.nan)


def no_number(name: str, cell: object, unit: str = "") -> DataError:
    """What to say about a cell that holds no number where one, in a unit or without, is needed."""
    needed = f"a number in {unit}" if unit else "a number"
    return DataError(
        f"column '{name}' holds {cell!r} where {needed} is needed; "
        "correct the value or leave it empty"
    )


def check_finite(numbers: np.ndarray, name: str) -> None:
    """Complains about infinite numbers, also those that are too large for float64; NaN is fine.

    Raises:
        DataError: There is such a number.
    """
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise DataError(
            f"column '{name}' holds infinite values, {infinite:,} among {len(numbers):,} rows; "
            "correct them or leave them empty"
        )


def category_key(value: object) -> str:
    """Returns the text that stands for a value, the same however a file happened to be parsed.

    The same column may be read as integers, as floats (if a value is missing), or as text (if
    one value is not a number), so 1, 1.0 and "1.0" are all "1", and True and "true" are "True".
    """
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.capitalize()
    try:
        number = float(text)
    except ValueError:
        return text
    # Python reads "1_000" as a number, files do not mean it.
    if not math.isfinite(number) or "_" in text:
        return text
    try:
        return str(int(text))
    except ValueError:
        return str(int(number)) if number.is_integer() else repr(number)
