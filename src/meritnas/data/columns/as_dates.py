"""Columns read as dates, in whatever way they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.date_texts import ISO, read_times
from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.data.columns.missing_words import are_few
from meritnas.data.columns.row_inputs import seconds_since_1970
from meritnas.errors import DataError

_ISO = re.compile(
    r"\d{4}-\d\d(-\d\d([T ]\d\d(:?\d\d(:?\d\d([.,]\d+)?)?)?)? ?(Z|[+-]\d\d(:?\d\d)?)?)?"
)
_OFFSET = re.compile(r":.*(Z|[+-]\d\d(:?\d\d)?)$")
_DAY_MONTH = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{4}")
_YEAR_FIRST = re.compile(r"\d{4}([/.])\d{1,2}\1\d{1,2}")
_NAMED = re.compile(r"\d{1,2}([ -])[A-Za-z]{3,9}\1\d{4}")
_MONTH_FIRST = re.compile(r"[A-Za-z]{3,9} \d{1,2}(,?) \d{4}")
_SIDES = ("%d/%m", "%m/%d", "%d-%m", "%m-%d")
"""Of forms that differ in nothing but which of the two comes first."""
_ONLY_ASKED = (
    (re.compile(r"(19|20)\d\d[01]\d[0-3]\d"), ("%Y%m%d",)),
    (re.compile(r"(19|20)\d\d"), ("%Y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d\d"), ("%d/%m/%y", "%m/%d/%y")),
)
"""What may be something else, and is a date only where a user says so."""
_EXAMPLES = 20
_A_DAY = 86_400
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The calendar of Python: the first second of the year 1 and the last of 9999, since 1970."""
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


@dataclass(frozen=True)
class Dates:
    """A column read as dates.

    Attributes:
        times: What a clock on the wall showed, of the rows or of the different values.
        codes: For each row the position of its time, -1 for missing; None: a time for each row.
        form: How text was read: `ISO` or a format of `strptime`.
        zone: The time zone of the wall; None if the column has none.
        unread: How many cells are no dates and count as missing.
        example: One of them.
    """

    times: pd.DatetimeIndex
    codes: np.ndarray | None
    form: str = ISO
    zone: str | None = None
    unread: int = 0
    example: str = ""

    def of(self, rows: np.ndarray | None) -> pd.DatetimeIndex:
        """Returns the times of these rows, NaT for missing; None for all rows."""
        if self.codes is None:
            return self.times if rows is None else self.times[rows]
        codes = self.codes if rows is None else self.codes[rows]
        return self.times.take(codes, fill_value=pd.NaT)


def find_dates(
    values: pd.Series, distinct: Distinct | None = None, *, asked: bool = False
) -> Dates | str | None:
    """Reads a column as dates if that is what it holds.

    Text is dates if it is written in one form, but for a few cells (see `are_few`), which count as
    missing. With day and month in front of the year, separated by / or -, the column must tell
    which is which: more of its values can be read one way than the other. With dots the day comes
    first.

    Args:
        values: The column.
        distinct: Its different values, if they are known.
        asked: Whether a user says that it holds dates: then any number of cells may be none, and
            whole numbers such as 20240331 may be dates, too.

    Returns:
        The dates; a sentence why they cannot be read, if they look like dates; or None.
    """
    direct = _direct(values)
    if direct is not None:
        zone = None if direct.tz is None else _zone_name(direct.tz)
        return Dates(_on_the_wall(direct, zone), None, ISO, zone)
    distinct = find_distinct(values) if distinct is None else distinct
    objects = _from_objects(distinct.values)
    if objects is not None:
        zone = None if objects.tz is None else _zone_name(objects.tz)
        return Dates(_on_the_wall(objects, zone), distinct.codes, ISO, zone)
    if not distinct.values:
        return None
    if not asked and types.infer_dtype(distinct.values) != "string":
        return None
    return _from_text([_text(value) for value in distinct.values], distinct, asked=asked)


def _from_text(text: list[str], distinct: Distinct, *, asked: bool) -> Dates | str | None:
    """The dates that text stands for, by the form in which most of its cells can be read."""
    counts = np.bincount(distinct.codes + 1, minlength=len(text) + 1)[1:]
    tried: list[tuple[int, str, pd.DatetimeIndex]] = []
    for form in _forms_of(text, asked=asked):
        times = _parse(text, form, asked=asked)
        if times is not None:
            lost = np.asarray(times.isna())
            strange = [text[i] for i in np.flatnonzero(lost)]
            if asked or are_few(strange, int(counts[lost].sum()), int(counts.sum())):
                tried.append((int(counts[lost].sum()), form, times))
    tried = [each for each in tried if each[0] < counts.sum()]
    if not tried:
        return None
    least = min(lost for lost, _, _ in tried)
    best = [(form, times) for lost, form, times in tried if lost == least]
    form, times = best[0]
    if sum(each.startswith(_SIDES) for each, _ in best) > 1:
        return "day and month of its dates cannot be told apart, write them like 2024-03-31"
    zoned = form == ISO and any(_OFFSET.search(value) for value in text)
    example = text[int(np.argmax(np.asarray(times.isna())))] if least else ""
    return Dates(times, distinct.codes, form, "UTC" if zoned else None, least, example)


def read_dates(
    values: pd.Series, form: str, zone: str | None, *, lenient: bool = False
) -> Dates | object:
    """Reads a column as dates, text in a form that is known.

    Args:
        values: The column.
        form: Of text.
        zone: Of the wall.
        lenient: Whether what is no date counts as missing.

    Returns:
        The dates, or the first value that is none.
    """
    direct = _direct(values)
    if direct is not None:
        return Dates(_on_the_wall(direct, zone), None, form, zone)
    distinct = find_distinct(values)
    found = _from_objects(distinct.values)
    if found is None:
        text = [_text(value) for value in distinct.values]
        found = _to_times(text, form)
        if form == ISO and lenient:
            found = found.where([_ISO.fullmatch(value) is not None for value in text])
        strange = np.asarray(found.isna())
        if strange.any() and not lenient:
            return distinct.values[int(np.argmax(strange))]
        if strange.any():
            unread = int(np.append(strange, False)[distinct.codes].sum())
            first = text[int(np.argmax(strange))]
            return Dates(_on_the_wall(found, zone), distinct.codes, form, zone, unread, first)
    return Dates(_on_the_wall(found, zone), distinct.codes, form, zone)


def wall_times(times: pd.DatetimeIndex) -> np.ndarray:
    """Returns times as datetime64[us] [n]."""
    return times.as_unit("us").to_numpy()


def seconds_of(times: pd.DatetimeIndex) -> np.ndarray:
    """Returns seconds since 1970 as float64 [n], NaN for missing."""
    return seconds_since_1970(wall_times(times))


def _direct(values: pd.Series) -> pd.DatetimeIndex | None:
    """Returns a column whose type says that it holds dates."""
    kind = values.dtype
    if isinstance(kind, pd.PeriodDtype):
        return pd.PeriodIndex(values).to_timestamp()
    if types.is_datetime64_any_dtype(kind) or str(kind).startswith("date"):
        return _in_the_calendar(pd.DatetimeIndex(pd.to_datetime(values)), str(values.name))
    return None


def _in_the_calendar(times: pd.DatetimeIndex, name: str) -> pd.DatetimeIndex:
    """The times, if all are in years that can be written; files may hold millions of years.

    Raises:
        DataError: They are not.
    """
    seconds = times.as_unit("s").asi8[~np.asarray(times.isna())]
    away = 0 if times.tz is None else _A_DAY  # in another zone it may be another year
    if len(seconds) and not (_FIRST + away <= seconds.min() and seconds.max() <= _LAST - away):
        raise DataError(
            f"column '{name}' holds dates before the year 1 or after the year 9999; correct them "
            "or leave them empty"
        )
    return times


def _from_objects(values: list[object]) -> pd.DatetimeIndex | None:
    """Returns dates that are Python or pandas objects."""
    kind = types.infer_dtype(values) if values else ""
    if kind == "period":
        return pd.PeriodIndex(values).to_timestamp()
    if kind not in ("date", "datetime", "datetime64"):
        return None
    try:
        return pd.DatetimeIndex(pd.to_datetime(values))
    except (ValueError, TypeError):
        # Several time zones, or some without.
        return pd.DatetimeIndex(pd.to_datetime(values, utc=True, errors="coerce"))


def _on_the_wall(times: pd.DatetimeIndex, zone: str | None) -> pd.DatetimeIndex:
    if times.tz is None:
        return times
    return times.tz_convert(zone or "UTC").tz_localize(None)


def _zone_name(zone: object) -> str:
    """Returns the name of a time zone if it can be found again by it, else UTC."""
    try:
        pd.Timestamp(0, tz=str(zone))
    except (ValueError, TypeError, KeyError):
        return "UTC"
    return str(zone)


def _text(value: object) -> str:
    """A value as text; whole numbers, which a file with gaps has as fractions, without a point."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()  # type: ignore[call-overload]


def _forms_of(text: list[str], *, asked: bool) -> list[str]:
    """The forms that dates may be written in, by a few examples."""
    found = [form for value in text[:_EXAMPLES] for form in _forms(value)]
    if asked:
        told = [forms for pattern, forms in _ONLY_ASKED if any(map(pattern.fullmatch, text))]
        found += [form for forms in told for form in forms]
    return list(dict.fromkeys(found))


def _forms(example: str) -> list[str]:
    """Returns the forms that a date may be written in, by one example."""
    if _ISO.fullmatch(example):
        return [ISO]
    parts = (
        (_DAY_MONTH, ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y")),
        (_YEAR_FIRST, ("%Y{0}%m{0}%d",)),
        (_NAMED, ("%d{0}%b{0}%Y", "%d{0}%B{0}%Y")),
        (_MONTH_FIRST, ("%b %d{0} %Y", "%B %d{0} %Y")),
    )
    for pattern, dates in parts:
        found = pattern.match(example)
        if found:
            days = [date.format(found.group(1)) for date in dates]
            return [day + time for time in _TIMES for day in days]
    return []


def _parse(text: list[str], form: str, *, asked: bool) -> pd.DatetimeIndex | None:
    """The dates, NaT for what is none; None where most of the first few are none."""
    few = text[:_EXAMPLES]
    # Most forms fail at once, so the first few values are tried before the many.
    if not asked and 2 * int(_times_in(few, form).isna().sum()) > len(few):
        return None
    return _times_in(text, form)


def _times_in(text: list[str], form: str) -> pd.DatetimeIndex:
    times = _to_times(text, form)
    if form != ISO:
        return times
    # Pandas takes more for ISO 8601 than we do.
    return times.where([_ISO.fullmatch(value) is not None for value in text])


def _to_times(text: list[str], form: str) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(read_times(text, form))
