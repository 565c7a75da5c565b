"""What a column is taken as: a number, a date, categories, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.as_dates import Dates, find_dates
from meritnas.data.columns.as_numbers import as_numbers, distinct_numbers
from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.cells import check_finite
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.data.columns.far_values import find_far_values
from meritnas.data.columns.number_column import NumberColumn


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
    """

    rows: np.ndarray | None = None
    most_knots: int = 0
    most_categories: int | None = None


def decide_column(name: str, values: pd.Series, rules: Rules) -> Column:
    """Decides how to take a column.

    What kind of values they are is seen from all rows: a column is a number if every value can
    be read as one, a date if every value can be read as one, else a category; and which numbers
    measure nothing (see `find_far_values`). Everything else is learned from the train rows alone.

    Raises:
        DataError: The column holds infinite values.
    """
    found = _decide(name, values, rules)
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
    if isinstance(decided, DateColumn) or values.isna().any() or not values.is_unique:
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
    if types.infer_dtype(distinct.values) != "boolean":
        numbers = distinct_numbers(distinct)[0]
        if numbers is not None:
            return _number(name, numbers, rules)
    dates = find_dates(values, distinct)
    if isinstance(dates, Dates):
        return DateColumn.fit(name, dates, rules.rows)
    found = CategoryColumn.fit(name, distinct, rules.rows, rules.most_categories)
    return f"{found}; {dates}" if isinstance(found, str) and dates else found


def _number(name: str, numbers: np.ndarray, rules: Rules) -> NumberColumn | str:
    check_finite(numbers, name)
    train = numbers if rules.rows is None else numbers[rules.rows]
    return NumberColumn.fit(name, train, rules.most_knots, find_far_values(numbers))
