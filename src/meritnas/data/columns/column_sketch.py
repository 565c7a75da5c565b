"""What is kept of a column of a table that is not in memory, until it is decided on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api import types

from meritnas.data.columns.as_dates import Dates
from meritnas.data.columns.as_numbers import as_numbers, distinct_numbers
from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.category_keys import other_keys
from meritnas.data.columns.cells import category_key, no_number
from meritnas.data.columns.counted_texts import CountedTexts
from meritnas.data.columns.date_sketch import DateSketch
from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.data.columns.measured import Written
from meritnas.data.columns.names import is_unnamed
from meritnas.data.columns.number_column import NumberColumn
from meritnas.data.columns.number_sketch import NumberSketch
from meritnas.data.columns.sorting import (
    AS_ASKED,
    CATEGORICAL,
    DATE,
    DROP,
    NUMERIC,
    Column,
    DroppedColumn,
    Numbers,
    Rules,
    asked_dates,
    asked_numbers,
    read_text,
    written_text,
)
from meritnas.data.columns.texts_once import codes_and_texts, has_texts_once


class ColumnSketch:
    """A column that is seen piece by piece, and decided on as `decide_column` does.

    What kind of values it holds is seen from its first rows, unless its type says so; where later
    rows hold others it is a category. All else is learned from the train rows alone.

    Args:
        name: Name in the table.
        first: Its first rows.
        rules: By what it is decided on, as far as its user and its file say.
    """

    def __init__(self, name: str, first: pd.Series, rules: Rules) -> None:
        self.name = name
        self._asked = rules.asked.get(name)
        self._rows = 0  # for training
        self._present = 0  # of these, where texts are counted
        self._numbers: NumberSketch | None = None
        self._dates: DateSketch | None = None
        self._texts: CountedTexts | None = None
        self._written: Written | None = None
        self._why = ""  # what is said of it where it is left out
        self._last = -np.inf  # while numbers only rise: they may be row numbers
        # Whether cells that cannot be read count as missing.
        self._lenient = self._asked is not None
        if self._asked is None:
            self._look(first, rules)
        elif self._asked == NUMERIC:
            self._begin(asked_numbers(name, first, rules.mark))
        elif self._asked == DATE:
            self._begin(asked_dates(name, first))
        elif self._asked == CATEGORICAL:
            self._texts = CountedTexts()

    def _look(self, first: pd.Series, rules: Rules) -> None:
        kind = first.dtype
        if types.is_timedelta64_dtype(kind) or _is_number(kind):
            self._numbers = NumberSketch()
        elif _is_time(kind):
            self._begin(asked_dates(self.name, first))
        else:
            self._texts = CountedTexts()
            if not types.is_bool_dtype(kind):
                distinct = find_distinct(first)
                self._begin(read_text(first, distinct, rules.mark) or written_text(distinct))

    def _begin(self, read: Numbers | Dates | str) -> None:
        if isinstance(read, Dates):
            self._lenient |= read.unread > 0
            self._dates = DateSketch(read, lenient=self._lenient)
        elif isinstance(read, Numbers):
            self._numbers, self._written = NumberSketch(), read.written
            if read.written is not None and read.written.unread:
                self._lenient = True
                self._written = replace(read.written, unread=0, example="")
        else:
            self._why = read

    def add(self, values: pd.Series, train: np.ndarray) -> None:
        """Looks at some rows, in their order.

        Args:
            values: Of these rows [n].
            train: Which of them are for training, as booleans [n].

        Raises:
            DataError: A number is infinite, or not what a user says.
        """
        self._rows += int(train.sum())
        texts = isinstance(values.dtype, pd.StringDtype) or has_texts_once(values)
        if texts and self.is_text:
            if self._texts is not None:
                self._count_texts(self._texts, values, train)
            return
        if self._numbers is not None:
            self._add_numbers(self._numbers, values, train)
        if self._dates is not None and not self._dates.add(values, train):
            self._dates = None
        if self._texts is not None:
            self._count(self._texts, find_distinct(values), train)

    @property
    def is_text(self) -> bool:
        """Whether nothing but its texts is looked at."""
        return self._numbers is None and self._dates is None

    def _count_texts(self, texts: CountedTexts, values: pd.Series, train: np.ndarray) -> None:
        if isinstance(values.dtype, pd.StringDtype):
            given = values[train].dropna()
            self._present += len(given)
            texts.add(_as_texts(given))
            return
        codes, different = codes_and_texts(values)
        counts = np.bincount(codes[train] + 1, minlength=len(different) + 1)[1:]
        self._present += int(counts.sum())
        there = np.flatnonzero(counts)
        texts.add(different.take(pa.array(there)), counts[there])

    def _add_numbers(self, sketch: NumberSketch, values: pd.Series, train: np.ndarray) -> None:
        typed = _is_number(values.dtype) or types.is_timedelta64_dtype(values.dtype)
        distinct = Distinct(np.zeros(0, np.int64), []) if typed else find_distinct(values)
        numbers, others = self._read(values, distinct, typed=typed)
        if others and not self._lenient:
            if self._texts is None:
                raise no_number(self.name, others[0])
            self._numbers = None
            return
        if others:
            written = self._written or Written()
            lost = int((np.isnan(numbers) & (distinct.codes >= 0)).sum())
            example = written.example or str(others[0])
            self._written = replace(written, unread=written.unread + lost, example=example)
        sketch.add(numbers, train, self.name)
        self._watch(numbers)

    def _read(
        self, values: pd.Series, distinct: Distinct, *, typed: bool
    ) -> tuple[np.ndarray, list[object]]:
        """The numbers, NaN for missing, and values that are none."""
        if typed or self._written is None:
            numbers, other = _plain_numbers(values, distinct, typed=typed)
            if numbers is not None:
                return numbers, []
            if self._written is None and not self._lenient:
                return np.zeros(0), [other]
        return (self._written or Written()).read(distinct)

    def _watch(self, numbers: np.ndarray) -> None:
        """Whether numbers only rise, and are whole; NaN compares as neither."""
        if not is_unnamed(self.name) or not len(numbers):
            return
        before = np.append(self._last, numbers[:-1])
        rising = bool((numbers > before).all() and (numbers % 1 == 0).all())
        self._last = float(numbers[-1]) if rising else np.inf

    def _count(self, texts: CountedTexts, distinct: Distinct, train: np.ndarray) -> None:
        counts = np.bincount(distinct.codes[train] + 1, minlength=len(distinct.values) + 1)[1:]
        self._present += int(counts.sum())
        there = np.flatnonzero(counts)
        keys = [category_key(distinct.values[place]) for place in there]
        texts.add(pa.array(keys, pa.string()), counts[there])

    def decide(self, rules: Rules, some: pd.Series) -> Column:
        """What the column is taken as.

        Args:
            rules: By what; its rows do not matter.
            some: Values of train rows drawn fairly, or of all.
        """
        found = self._decide(rules, some)
        rising = self._asked is None and is_unnamed(self.name) and np.isfinite(self._last)
        if isinstance(found, NumberColumn) and rising:
            found = "row numbers"
        return DroppedColumn(self.name, found) if isinstance(found, str) else found

    def _decide(self, rules: Rules, some: pd.Series) -> Column | str:
        if self._dates is not None:
            return self._dates.column(self.name, self._rows)
        if self._numbers is not None:
            typed = _is_number(some.dtype) or types.is_timedelta64_dtype(some.dtype)
            numbers = self._read(some, find_distinct(some), typed=typed)[0]
            return self._numbers.column(self.name, numbers, rules.most_knots, self._written)
        if self._texts is None:
            asked = self._asked or ""
            return AS_ASKED if asked == DROP else asked
        found = self._category(self._texts, rules)
        return f"{found}; {self._why}" if isinstance(found, str) and self._why else found

    def _category(self, texts: CountedTexts, rules: Rules) -> CategoryColumn | str:
        counted, numbers = texts.counted()
        places, keys = other_keys(counted)
        numbers_of_keys = numbers[places].tolist()
        plain = np.delete(np.arange(len(counted)), places)
        names = counted.take(pa.array(plain)).to_pylist()
        counts: dict[str, int] = dict(zip(names, numbers[plain].tolist(), strict=True))
        for key, count in zip(keys, numbers_of_keys, strict=True):
            counts[key] = counts.get(key, 0) + count
        # The same category may be written in several ways.
        different = texts.different - (len(counted) - len(counts))
        asked = self._asked == CATEGORICAL
        return CategoryColumn.of_counts(
            *(self.name, counts, self._present, self._rows - self._present),
            *(rules.most_categories, different),
            asked=asked,
        )

    def as_codes(self, rules: Rules) -> Column | None:
        """As categories, if the train rows hold three whole numbers only, such as 0, 1, 2."""
        codes = None if self._numbers is None else self._numbers.three_codes()
        if codes is None or self._asked is not None or self._written is not None:
            return None
        present = sum(codes.values())
        missing = self._rows - present
        found = CategoryColumn.of_counts(self.name, codes, present, missing, rules.most_categories)
        return DroppedColumn(self.name, found) if isinstance(found, str) else found


def decide_columns(sketches: list[ColumnSketch], rules: Rules, some: pd.DataFrame) -> list[Column]:
    """What each column of a table is taken as; codes of a board are categories, as in `fit`."""
    decisions = [sketch.decide(rules, some[sketch.name]) for sketch in sketches]
    numbers = [one.name for one in decisions if isinstance(one, NumberColumn)]
    coded = {one.name: codes for one in sketches if (codes := one.as_codes(rules)) is not None}
    if 2 * len(coded.keys() & set(numbers)) < len(numbers):
        return decisions
    return [coded.get(one.name, one) if isinstance(one, NumberColumn) else one for one in decisions]


def _plain_numbers(
    values: pd.Series, distinct: Distinct, *, typed: bool
) -> tuple[np.ndarray | None, object]:
    return as_numbers(values) if typed else distinct_numbers(distinct)


def _is_number(kind: object) -> bool:
    return types.is_numeric_dtype(kind) and not types.is_bool_dtype(kind)


def _is_time(kind: object) -> bool:
    return (
        types.is_datetime64_any_dtype(kind)
        or isinstance(kind, pd.PeriodDtype)
        or str(kind).startswith("date")
    )


def _as_texts(values: pd.Series) -> pa.Array:
    found = pa.array(values.array, pa.string(), from_pandas=True)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
