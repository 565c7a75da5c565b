"""What single cells stand for, held against what pandas makes of whole columns of them."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.data.columns.cells import number_of, numbers_of
from meritnas.data.columns.date_texts import ISO, read_times
from meritnas.data.columns.decimal_marks import find_marks, plain_number
from meritnas.data.columns.row_inputs import place_in_cycle, seconds_since_1970
from meritnas.errors import DataError

LETTERS = "0123456789.+-eE _,infINFxX a%$\u0663"
FORMS = ["%d/%m/%Y", "%m-%d-%Y %H:%M", "%d.%m.%y", "%Y/%m/%d %I:%M:%S %p", "%d %b %Y", "%B %d, %Y"]


@given(st.text(LETTERS, max_size=7))
def test_text_is_the_number_that_pandas_reads(text: str) -> None:
    known = pd.to_numeric(pd.Series([text], dtype=object), errors="coerce").to_numpy(float)[0]
    found = number_of(text)
    if text.strip() != text and math.isinf(found):
        return  # pandas does not read "inf "
    assert found == pytest.approx(known, rel=1e-15, nan_ok=True)


def test_other_cells_are_numbers_too() -> None:
    cells = [True, 3, np.int8(4), Decimal("5.5"), np.float32(0.5), timedelta(minutes=2), 10**400]
    assert list(map(number_of, cells)) == [1, 3, 4, 5.5, 0.5, 120, math.inf]
    assert all(math.isnan(number_of(cell)) for cell in (None, [1], 1j, "1_000", "nan", "0x10"))


def test_truths_are_numbers_where_they_may_be() -> None:
    assert numbers_of(["true", "FALSE", 1], "a", truths=True).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="'a' holds 'true' where a number is needed"):
        numbers_of(["1", "true"], "a", truths=False)


@given(st.datetimes())
def test_places_in_cycles_are_those_of_pandas(time: object) -> None:
    times = np.array([time, "NaT"], dtype="datetime64[us]")
    known = pd.DatetimeIndex(times)
    hour = known.hour + known.minute / 60
    for cycle, of_pandas in (("month", known.month - 1), ("weekday", known.day_of_week)):
        assert place_in_cycle(times, cycle)[0] == of_pandas[0]
    assert place_in_cycle(times, "hour")[0] == hour[0]
    assert np.isnan([place_in_cycle(times, "month")[1], seconds_since_1970(times)[1]]).all()


@given(st.datetimes().map(pd.Timestamp), st.sampled_from(FORMS))
def test_written_dates_are_those_of_pandas(time: pd.Timestamp, form: str) -> None:
    text = time.strftime(form)
    known = pd.to_datetime(pd.Series([text], dtype=object), format=form, errors="coerce")
    plain = known.to_numpy().astype("M8[us]")
    assert np.array_equal(read_times([text], form), plain, equal_nan=True)


@pytest.mark.parametrize(
    "text",
    [
        *("2024-03-31", "2024-03", "2024", "20240331", "2024-3-5", "2024/03/31", "2024-03-31 1:05"),
        *("2024-03-31 17", "2024-03-31T17:05:10.5", "2024-03-31 17:05:10.123456789", "202403"),
        *("2024-03-31T17:05:10Z", "2024-03-31 17:05:10 +0200", "2024-03-31 17:05 +02", ""),
        *("2024-02-30", "2024-13-01", "0001-01-01", "2024-03-31 24:00:01", "yesterday", "1,5"),
    ],
)
def test_dates_of_the_standard_are_those_of_pandas(text: str) -> None:
    series = pd.Series([text], dtype=object)
    known = pd.to_datetime(series, format="ISO8601", errors="coerce", utc=True)
    plain = known.dt.tz_localize(None).to_numpy().astype("M8[us]")
    assert np.array_equal(read_times([text], ISO), plain, equal_nan=True)


def test_one_file_has_one_decimal_mark() -> None:
    columns = {0: ["1,5", "2"], 3: ["1.234,5"], 5: ["a,b"]}
    assert find_marks(columns, lambda: [], ";", None) == (",", {0: ",", 3: ","})
    assert find_marks({1: ["1,234"]}, lambda: [["0.5"]], ",", None) == (".", {1: "."})
    assert find_marks({1: ["1,234"]}, lambda: [["1.500"]], ";", None) == (",", {1: ","})
    assert (plain_number(" 1.234,5 ", ","), plain_number("1,234.5", ".")) == ("1234.5", "1234.5")
