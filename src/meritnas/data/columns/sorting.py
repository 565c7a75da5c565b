"""What a column is taken as: a number, a date, categories, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.as_dates import Dates, find_dates
from meritnas.data.columns.as_numbers import as_numbers, distinct_numbers
from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.cells import check_finite
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.decimal_marks import Mark
from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.data.columns.far_values import find_far_values
from meritnas.data.columns.measured import Written, find_written
from meritnas.data.columns.number_column import NumberColumn
from meritnas.errors import DataError

NUMERIC, CATEGORICAL, DATE, DROP = "numeric", "categorical", "date", "drop"
"""What a user may ask a column to be taken as."""

_WORDS = 3
"""On average, above which texts are written and not names or codes; as fusion has it."""

AS_ASKED = "as asked"
"""Why a column is left out that a user does not want."""


@dataclass(frozen=True)
class DroppedColumn:
    """A column that is left out, and why."""

    name: str
    reason: str


Column = NumberColumn | DateColumn | CategoryColumn | DroppedColumn


@dataclass(frozen=True)
class Rules:
    """By what a column is decided on.

    Attributes:
        rows: Positions of the train rows, None for all.
        most_knots: Most knots of a number's quantile map; 0 to standardise numbers.
        most_categories: Most categories to keep in a column, None for no limit.
        mark: The decimal mark of the file, if it told.
        asked: Name -> what a user wants the column to be taken as, or why it is left out.
    """

    rows: np.ndarray | None = None
    most_knots: int = 0
    most_categories: int | None = None
    mark: Mark | None = None
    asked: Mapping[str, str] = field(default_factory=dict)


def decide_column(name: str, values: pd.Series, rules: Rules) -> Column:
    """Decides how to take a column.

    What kind of values they are is seen from all rows: a column is a number if its values can be
    read as such (see `find_written` for those with units, and for cells that are none), a date if
    they can be read as dates (see `find_dates`), else a category; and which numbers measure nothing
    (see `find_far_values`). Everything else is learned from the train rows alone. What a user asks
    for goes before all that.

    Raises:
        DataError: The column holds infinite values, or nothing of what a user says.
    """
    asked = rules.asked.get(name)
    found = _decide(name, values, rules) if asked is None else _as_asked(asked, name, values, rules)
    return DroppedColumn(name, found) if isinstance(found, str) else found


def decide_category(name: str, values: pd.Series, rules: Rules) -> Column:
    """Takes a column as a category whatever its values are."""
    found = CategoryColumn.fit(name, find_distinct(values), rules.rows, rules.most_categories)
    return DroppedColumn(name, found) if isinstance(found, str) else found


def is_three_codes(column: NumberColumn, values: pd.Series, rows: np.ndarray | None) -> bool:
    """Whether a number column's train rows hold exactly three whole values, such as 0, 1, 2."""
    # Most columns are settled without looking at their values again.
    low, high = column.low, column.high
    if low is None or high is None or not (low.is_integer() and high.is_integer()):
        return False
    if column.two_valued:
        return False
    numbers = as_numbers(values)[0]
    if numbers is None:
        return False
    present = numbers if rows is None else numbers[rows]
    inner = present[(present > low) & (present < high)]
    return len(inner) > 0 and bool(inner[0] % 1 == 0 and (inner == inner[0]).all())


def decide_unnamed(name: str, values: pd.Series, rules: Rules) -> Column:
    """Decides on a first column without a name: left out if it only tells rows apart.

    It does if no two values are the same, and they are whole numbers or text.
    """
    decided = decide_column(name, values, rules)
    if (
        name in rules.asked
        or isinstance(decided, DateColumn)
        or values.isna().any()
        or not values.is_unique
    ):
        return decided
    if not types.is_numeric_dtype(values.dtype):
        return DroppedColumn(name, "row names")
    whole = not bool((values % 1 != 0).any())
    return DroppedColumn(name, "row numbers") if whole else decided


def _decide(name: str, values: pd.Series, rules: Rules) -> Column | str:
    kind = values.dtype
    if types.is_bool_dtype(kind):
        return CategoryColumn.fit(name, find_distinct(values), rules.rows)
    if types.is_numeric_dtype(kind) or types.is_timedelta64_dtype(kind):
        numbers = as_numbers(values)[0]
        assert numbers is not None
        return _number(name, numbers, rules)
    if types.is_datetime64_any_dtype(kind) or isinstance(kind, pd.PeriodDtype):
        dates = find_dates(values)
        assert isinstance(dates, Dates)
        return DateColumn.fit(name, dates, rules.rows)
    return _decide_text(name, values, find_distinct(values), rules)


def _decide_text(name: str, values: pd.Series, distinct: Distinct, rules: Rules) -> Column | str:
    read = read_text(values, distinct, rules.mark)
    if isinstance(read, Dates):
        return DateColumn.fit(name, read, rules.rows)
    if isinstance(read, Numbers):
        return _number(name, read.numbers, rules, read.written)
    found = CategoryColumn.fit(name, distinct, rules.rows, rules.most_categories)
    if not isinstance(found, str):
        return found
    why = read or written_text(distinct)
    return f"{found}; {why}" if why else found


@dataclass(frozen=True)
class Numbers:
    """A text column read as numbers.

    Attributes:
        numbers: NaN for missing and for what is none [n].
        written: How they are written; None for plain numbers.
    """

    numbers: np.ndarray
    written: Written | None = None


def read_text(values: pd.Series, distinct: Distinct, mark: Mark | None) -> Numbers | Dates | str:
    """What a text column holds; of one that holds neither, why its dates cannot be read, if any.

    Args:
        values: The column.
        distinct: Its different values.
        mark: The decimal mark of the file, if it told.
    """
    truths = types.infer_dtype(distinct.values) == "boolean"
    if not truths:
        numbers = distinct_numbers(distinct)[0]
        if numbers is not None:
            return Numbers(numbers)
    dates = find_dates(values, distinct)
    if isinstance(dates, Dates) and not dates.unread:
        return dates
    written = None if truths else find_written(distinct, mark)
    if written is not None:
        return Numbers(written.read(distinct)[0], written)
    return dates or ""


def written_text(distinct: Distinct) -> str:
    """How written text is used, if that is what a column holds that is left out."""
    texts = [value for value in distinct.values if isinstance(value, str)]
    words = [len(text.split()) for text in texts]
    if not texts or sum(words) <= _WORDS * len(words):
        return ""
    return "it is written text, which a search with --space fusion reads beside the other columns"


def _as_asked(asked: str, name: str, values: pd.Series, rules: Rules) -> Column | str:
    """Takes a column as a user says, whatever its values are."""
    if asked == NUMERIC:
        read = asked_numbers(name, values, rules.mark)
        return _number(name, read.numbers, rules, read.written)
    if asked == DATE:
        return DateColumn.fit(name, asked_dates(name, values), rules.rows)
    if asked == CATEGORICAL:
        distinct, most = find_distinct(values), rules.most_categories
        return CategoryColumn.fit(name, distinct, rules.rows, most, asked=True)
    return AS_ASKED if asked == DROP else asked


def asked_dates(name: str, values: pd.Series) -> Dates:
    """A column as the dates that a user says it holds.

    Raises:
        DataError: There is none.
    """
    dates = find_dates(values, asked=True)
    if not isinstance(dates, Dates):
        raise DataError(f"column '{name}' cannot be taken as a date: {dates or _none(values)}")
    return dates


def asked_numbers(name: str, values: pd.Series, mark: Mark | None) -> Numbers:
    """A column as the numbers that a user says it holds.

    Raises:
        DataError: There is none.
    """
    numbers = as_numbers(values)[0]
    if numbers is not None:
        return Numbers(numbers)
    distinct = find_distinct(values)
    written = find_written(distinct, mark, asked=True)
    if written is None:
        raise DataError(f"column '{name}' cannot be taken as numbers: {_none(values)}")
    return Numbers(written.read(distinct)[0], written)


def _none(values: pd.Series) -> str:
    some = find_distinct(values).values[:1]
    return f"it holds values such as {some[0]!r}" if some else "it has no values"


def _number(
    name: str, numbers: np.ndarray, rules: Rules, written: Written | None = None
) -> NumberColumn | str:
    check_finite(numbers, name)
    train = numbers if rules.rows is None else numbers[rules.rows]
    return NumberColumn.fit(name, train, rules.most_knots, find_far_values(numbers), written)
