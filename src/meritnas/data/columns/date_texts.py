"""Dates written as text; needs numpy only, so that it leaves with a network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np

from meritnas.errors import DataError

ISO = "ISO8601"
"""The form of 2024-03-31, 2024-03-31 17:05 and 2024-03-31T17:05:10+02:00."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_FIELDS = {
    "%d": r"(?P<day>\d{1,2})",
    "%m": r"(?P<month>\d{1,2})",
    "%b": rf"(?P<name>{'|'.join(name[:3] for name in _MONTHS)})",
    "%B": rf"(?P<name>{'|'.join(_MONTHS)})",
    "%Y": r"(?P<year>\d{4})",
    "%y": r"(?P<short>\d\d)",
    "%H": r"(?P<hour>\d{1,2})",
    "%I": r"(?P<half>0?[1-9]|1[0-2])",
    "%M": r"(?P<minute>\d{1,2})",
    "%S": r"(?P<second>\d{1,2})",
    "%p": r"(?P<noon>am|pm)",
}


def read_times(texts: Sequence[str], form: str) -> np.ndarray:
    """Texts as datetime64[us] [n]: the time that is written, of ISO with an offset that in UTC.

    Args:
        texts: Without blanks around them.
        form: `ISO`, or a format of `strptime` made of day, month, year and time.

    Returns:
        The times, not a time (NaT) for what is written in another form.
    """
    read = _read_iso if form == ISO else _reader(form)
    return np.array([read(text) for text in texts], dtype="datetime64[us]")


def no_date(name: str, cell: object, form: str) -> DataError:
    """What to say about a cell that holds no date where one is needed."""
    example = datetime(2024, 3, 31).strftime("%Y-%m-%d" if form == ISO else form)
    return DataError(
        f"column '{name}' holds {cell!r} where a date like {example} is needed; "
        "correct the value or leave it empty"
    )


_LAST_CENTURY = 69
_YEAR = re.compile(r"\d{4}(-\d\d)?", re.ASCII)
_BEFORE_OFFSET = re.compile(r" (?=[Z+-])")
_NEARLY_ISO = tuple(
    day + time for day in ("%Y-%m-%d", "%Y/%m/%d") for time in ("", " %H:%M", " %H:%M:%S")
)


def _read_iso(text: str) -> datetime | None:
    """The date; a month is its first day, a year its first month."""
    if _YEAR.fullmatch(text):
        text = f"{text}-01-01"[:10]
    try:
        found = datetime.fromisoformat(_BEFORE_OFFSET.sub("", text))
    except ValueError:
        # Digits fewer than the standard wants, and strokes.
        return next((time for form in _NEARLY_ISO if (time := _reader(form)(text))), None)
    try:
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return None


class _Written:
    """Reads dates of one form."""

    def __init__(self, form: str) -> None:
        parts = re.split(r"(%[A-Za-z])", form)
        pattern = "".join(_FIELDS[p] if p in _FIELDS else re.escape(p) for p in parts)
        self._pattern = re.compile(pattern, re.ASCII | re.IGNORECASE)

    def __call__(self, text: str) -> datetime | None:
        """The date, None for what is none."""
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        told = found.groupdict()
        half = told.get("half")
        hour = int(told.get("hour") or 0)
        if half is not None:
            hour = int(half) % 12 + (12 if told["noon"].lower() == "pm" else 0)
        minute, second = int(told.get("minute") or 0), int(told.get("second") or 0)
        try:
            return datetime(
                _year(told), _month(told), int(told.get("day") or 1), hour, minute, second
            )
        except ValueError:
            return None


def _year(told: Mapping[str, str]) -> int:
    """Of two digits from 69 on that of the last century, as `strptime` has it."""
    if "short" not in told:
        return int(told["year"])
    short = int(told["short"])
    return short + (1900 if short >= _LAST_CENTURY else 2000)


def _month(told: Mapping[str, str]) -> int:
    if "name" not in told:
        return int(told.get("month") or 1)
    name = told["name"].lower()
    return 1 + next(i for i, month in enumerate(_MONTHS) if month.startswith(name))


@lru_cache(maxsize=32)
def _reader(form: str) -> _Written:
    return _Written(form)
