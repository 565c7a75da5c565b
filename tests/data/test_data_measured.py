from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.distinct import find_distinct
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.columns.measured import Written, find_written
from meritnas.errors import DataError


def read(values: list[Any], **more: Any) -> tuple[Written | None, list[float]]:
    distinct = find_distinct(pd.Series(values, dtype=object))
    written = find_written(distinct, more.pop("known", None), **more)
    return written, [] if written is None else written.read(distinct)[0].tolist()


@pytest.mark.parametrize(
    ("values", "unit", "numbers"),
    [
        (["$1,583.32", "$7", "-$2.50", "($3.00)"], "$", [1583.32, 7, -2.5, -3]),
        (["2,33 €", "1.234,50 €", "7 €"], "€", [2.33, 1234.5, 7]),
        (["EUR 5", "EUR 7.5"], "EUR", [5, 7.5]),
        (["10.2 °C", "-3 °C", "\u22124.5°C"], "°C", [10.2, -3, -4.5]),
        (["12 %", "7.5%", "8"], "%", [12, 7.5, 8]),
        (["70 kg", "80 KG", "90.5Kg"], "kg", [70, 80, 90.5]),
        (["1 year", "2 years", "3 years"], "years", [1, 2, 3]),
        (["5 mg/dL", "6 mg/dL"], "mg/dL", [5, 6]),
        (["1'234.5", "2'000'000"], "", [1234.5, 2e6]),
        (["1 234", "12 345 678"], "", [1234, 12345678]),
        (["$1.2M", "$500k", "$900"], "$", [1.2e6, 5e5, 900]),
        (["3k", "4M", "17"], "", [3e3, 4e6, 17]),
        (["1,234 kg", "2,345 kg"], "kg", [1234, 2345]),
    ],
)
def test_numbers_with_units(values: list[str], unit: str, numbers: list[float]) -> None:
    written, found = read(values)
    assert written is not None
    assert (written.unit, written.unread) == (unit, 0)
    assert found == pytest.approx(numbers)


def test_the_file_says_what_a_mark_means() -> None:
    assert read(["1,234 kg", "2,345 kg"], known=",")[1] == [1.234, 2.345]
    assert read(["1.234 kg", "2.345 kg"], known=",")[1] == [1234, 2345]
    assert read(["1.234 kg", "2.345 kg"])[1] == [1.234, 2.345]


@pytest.mark.parametrize(
    "values",
    [
        ["10 kg", "20 lb", "30 kg", "40 lb"],
        ["12", "14", "12a", "15b"],
        ["1", "2", "3", "4a"],
        ["18-25", "26-35"],
        ["192.168.1.1", "192.168.1.2"],
        ["2nd", "3rd", "4th"],
        ["1,5", "2,75"],
        ["5 Main Street", "7 Side Street"],
        ["red", "blue"],
        ["10:30", "11:45"],
        ["1/2", "3/4"],
    ],
)
def test_what_is_no_number_in_one_unit(values: list[str]) -> None:
    assert read(values)[0] is None


def test_a_few_other_cells_count_as_missing() -> None:
    values = [str(i) for i in range(97)] + ["tall", "tall", "short"]
    written, found = read(values)
    assert written == Written(unread=3, example="tall")
    assert found[:97] == list(range(97))
    assert np.isnan(found[97:]).all()
    assert read([*values, *["tall"] * 3])[0] is None  # more than one in twenty
    few = [str(i % 5) for i in range(97)]
    assert read([*few, "tall", "short"])[0] is None  # a handful of codes


def test_half_of_the_cells_may_be_words_for_missing() -> None:
    values = ["1", "2", "unknown", "-", "n.a.", "3"]
    written, found = read(values)
    assert written is not None
    assert written.unread == 3
    assert np.isnan(found).tolist() == [False, False, True, True, True, False]
    assert read([*values, "unknown"])[0] is None


def test_asked_for_any_number_of_cells_may_be_none() -> None:
    written, found = read(["1", "tall", "short", "wide"], asked=True)
    assert written is not None
    assert (written.unread, found[0]) == (3, 1)
    assert read(["tall", "short"], asked=True)[0] is None


@settings(max_examples=60)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=8),
    st.sampled_from(["${}", "{} €", "USD {}", "{}%", "{} km/h"]),
    st.booleans(),
)
def test_round_trip(cents: list[int], form: str, swapped: bool) -> None:
    values = [number / 100 for number in [*cents, 12345678, 150]]
    texts = [f"{value:,.2f}" for value in values]
    if swapped:
        texts = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    assert read([form.format(text) for text in texts])[1] == values


def test_a_column_keeps_its_unit_and_reads_new_cells_alike() -> None:
    frame = pd.DataFrame({"p": ["$1,000.50", "$2", "$3,000"], "q": ["1,5 kg", "2,5 kg", "7 kg"]})
    encoder = TableEncoder.fit(frame)
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    assert [c.written.unit for c in encoder.number_columns if c.written] == ["$", "kg"]
    assert encoder.describe()[0].details.startswith("in $, mean 1.33e+03")
    new = pd.DataFrame({"p": ["$1,000.50", "1000.5"], "q": ["1,500 kg", "1,5"]})
    inputs = again.transform(new)
    assert inputs[0].tolist() == inputs[1].tolist()
    plain = pd.DataFrame({"p": [1000.5], "q": [1.5]})
    assert again.transform(plain)[0].tolist() == inputs[0].tolist()
    with pytest.raises(DataError, match=r"'tall' where a number in \$ is needed"):
        again.transform(pd.DataFrame({"p": ["tall"], "q": [1]}))


def test_new_cells_that_are_none_count_as_missing_where_some_did() -> None:
    values = [*map(str, range(40)), "unknown"]
    encoder = TableEncoder.fit(pd.DataFrame({"a": values}))
    (column,) = encoder.number_columns
    assert column.indicator
    assert encoder.warnings == (
        "column 'a': 1 value is no number, 'unknown', and counts as missing",
    )
    new = pd.DataFrame({"a": ["3", "tall", None]})
    assert encoder.transform(new)[:, 1].tolist() == [0, 1, 1]
    assert encoder.unfamiliar(new) == [
        "column 'a': 1 value is no number, 'tall', and counts as missing"
    ]


def test_dates_but_for_a_few_cells() -> None:
    days = pd.date_range("2024-01-01", periods=40).strftime("%d/%m/%Y").tolist()
    encoder = TableEncoder.fit(pd.DataFrame({"d": [*days, "0000-00-00", "soon"]}))
    (column,) = encoder.date_columns
    assert (column.form, column.unread, column.example) == ("%d/%m/%Y", 2, "0000-00-00")
    assert TableEncoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder
    new = pd.DataFrame({"d": ["01/01/2024", "later"]})
    assert encoder.transform(new)[:, -1].tolist() == [0, 1]
    assert "1 value is no date, 'later'" in encoder.unfamiliar(new)[0]
    assert not TableEncoder.fit(pd.DataFrame({"d": [*days, *["soon"] * 5] * 2})).date_columns


@pytest.mark.parametrize(
    ("asked", "taken_as"),
    [("numeric", "number"), ("categorical", "category"), ("drop", "left out"), (None, "category")],
)
def test_a_user_says_what_a_column_is(asked: str | None, taken_as: str) -> None:
    frame = pd.DataFrame({"code": ["1", "2", "3", "4a"] * 5, "x": np.arange(20) / 7})
    encoder = TableEncoder.fit(frame, asked={"code": asked} if asked else {})
    assert {row.column: row.taken_as for row in encoder.describe()}["code"] == taken_as
    assert not any("left out" in text for text in encoder.warnings)


def test_a_user_says_that_numbers_are_dates() -> None:
    frame = pd.DataFrame({"d": [20240331, 20240401, 20241224], "y": [2001, 2002, 2003]})
    encoder = TableEncoder.fit(frame, asked={"d": "date", "y": "date"})
    assert [column.form for column in encoder.date_columns] == ["%Y%m%d", "%Y"]
    assert str(pd.Timestamp(encoder.date_columns[0].low, unit="s")) == "2024-03-31 00:00:00"
    with pytest.raises(DataError, match=r"'d' cannot be taken as a date: .* such as 'red'"):
        TableEncoder.fit(pd.DataFrame({"d": ["red", "blue"]}), asked={"d": "date"})
    with pytest.raises(DataError, match="'d' cannot be taken as numbers"):
        TableEncoder.fit(pd.DataFrame({"d": ["red", "blue"]}), asked={"d": "numeric"})
