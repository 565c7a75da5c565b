"""What is decided about columns that are seen in pieces is what is decided about whole ones."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.cells import category_key
from meritnas.data.columns.column_sketch import ColumnSketch, decide_columns
from meritnas.data.columns.counted_texts import CountedTexts
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.encoder import TableEncoder, make_rules
from meritnas.data.columns.moments import Moments
from meritnas.data.columns.number_column import NumberColumn
from meritnas.data.columns.sorting import Column, DroppedColumn, Rules
from meritnas.errors import DataError

ROWS = 300
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2021-03-01") + pd.to_timedelta(RNG.integers(0, 700, ROWS), unit="D")
MISSING = RNG.random(ROWS) < 0.2
TEXTS = pd.Series(RNG.choice(["a", "b", "True", "1.0", "1", "é"], ROWS))


def some(values: Any, dtype: Any = None) -> pd.Series:
    return pd.Series(values, dtype=dtype).mask(MISSING)


COLUMNS = {
    "floats": some(RNG.normal(3, 5, ROWS)),
    "whole": pd.Series(RNG.integers(0, 90, ROWS)),
    "all missing": pd.Series([np.nan] * ROWS),
    "constant": pd.Series([4.0] * ROWS),
    "two": pd.Series(RNG.integers(0, 2, ROWS)),
    "three": pd.Series(RNG.integers(0, 3, ROWS)),
    "fill": some(RNG.normal(size=ROWS)).fillna(9.97e36),
    "huge": pd.Series(RNG.normal(size=ROWS) * 1e20),
    "beyond": pd.Series(np.where(MISSING, 1e200, RNG.normal(size=ROWS))),
    "truths": pd.Series(RNG.random(ROWS) < 0.4),
    "some truths": some(RNG.random(ROWS) < 0.4, object),
    "texts": some(TEXTS),
    "numbers as text": some(pd.Series(RNG.integers(0, 50, ROWS)).map("{:03d}".format)),
    "names": pd.Series([f"name {i}" for i in range(ROWS)]),
    "many": pd.Series([f"v{v}" for v in RNG.zipf(1.4, ROWS)]),
    "dates": some(DAYS),
    "zoned": some(DAYS.tz_localize("Europe/Rome")),
    "iso": some(DAYS.strftime("%Y-%m-%d")),
    "day first": some(DAYS.strftime("%d/%m/%Y")),
    "days to 12": pd.Series(DAYS.strftime("01/%m/%Y")),
    "units": some(pd.Series(RNG.integers(0, 50, ROWS)).map("{} kg".format)),
    "some unknown": pd.Series([*map(str, range(ROWS - 2)), "tall", "-"]).sample(
        frac=1, random_state=0, ignore_index=True
    ),
    "durations": pd.Series(pd.to_timedelta(RNG.integers(0, 99, ROWS), unit="h")),
    "lists": pd.Series([[i % 3] for i in range(ROWS)]),
    "categories": pd.Series(pd.Categorical(TEXTS)),
}
RULES = Rules()


def sketched(columns: dict[str, pd.Series], train: np.ndarray, cuts: list[int]) -> list[Any]:
    """What is kept of columns seen in pieces, whose kind the first 200 rows tell."""
    sketches = [ColumnSketch(name, values.iloc[:200], RULES) for name, values in columns.items()]
    for start, end in itertools.pairwise(sorted({0, *cuts, len(train)})):
        for sketch in sketches:
            sketch.add(columns[sketch.name].iloc[start:end], train[start:end])
    return sketches


def decided(
    columns: dict[str, pd.Series], train: np.ndarray, cuts: list[int], scaling: str
) -> list[Column]:
    frame = pd.DataFrame(columns)[train]
    rules = make_rules(len(columns), scaling)
    return decide_columns(sketched(columns, train, cuts), rules, frame)


def same(one: Any, other: Any) -> bool:
    """All settings are, numbers up to rounding."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, each.name), getattr(other, each.name))
            for each in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == pytest.approx(other, rel=1e-9, abs=1e-12)
    return bool(one == other)


def in_order(encoder: TableEncoder) -> dict[str, Any]:
    every = (*encoder.number_columns, *encoder.category_columns, *encoder.date_columns)
    return {one.name: one for one in (*every, *encoder.dropped)}


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
@pytest.mark.parametrize("cuts", [[], [7, 100, 101, 250]])
def test_columns_in_pieces_are_decided_on_as_whole_ones(scaling: Any, cuts: list[int]) -> None:
    train = np.random.default_rng(1).random(ROWS) < 0.7
    expected = in_order(TableEncoder.fit(pd.DataFrame(COLUMNS), np.flatnonzero(train), scaling))
    for found in decided(COLUMNS, train, cuts, scaling):
        assert same(found, expected[found.name]), found.name


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_any_cut_and_any_training_rows_give_the_same(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(COLUMNS)))
    cuts = data.draw(st.lists(st.integers(1, ROWS - 1), max_size=4))
    share = data.draw(st.sampled_from([0.02, 0.5, 1.0]))
    train = np.random.default_rng(len(cuts)).random(ROWS) < share
    columns = {name: COLUMNS[name], "floats too": COLUMNS["floats"], "more": COLUMNS["whole"]}
    expected = in_order(TableEncoder.fit(pd.DataFrame(columns), np.flatnonzero(train)))
    sketches = sketched(columns, train, cuts)
    frame = pd.DataFrame(columns)[train]
    for found in decide_columns(sketches, make_rules(3, "standard"), frame):
        assert same(found, expected[found.name]), found


def test_row_numbers_are_left_out() -> None:
    columns = {"Unnamed: 0": pd.Series(np.arange(ROWS) + 5), "b": COLUMNS["floats"]}
    first, second = decided(columns, np.ones(ROWS, bool), [50, 100], "standard")
    assert (first.name, getattr(first, "reason", "")) == ("Unnamed: 0", "row numbers")
    assert second.name == "b"


def test_infinite_values_are_refused_in_any_piece() -> None:
    sketch = ColumnSketch("a", pd.Series([1.0, 2.0]), RULES)
    sketch.add(pd.Series([1.0, 2.0]), np.ones(2, bool))
    with pytest.raises(DataError, match="column 'a' holds infinite values"):
        sketch.add(pd.Series([1.0, np.inf]), np.zeros(2, bool))


@pytest.mark.parametrize("later", ["tall", "2024-13-41"])
@pytest.mark.parametrize("form", ["{}", "2024-01-{:02d}", "{} kg"])
def test_a_column_whose_later_rows_hold_other_things_is_a_category(form: str, later: str) -> None:
    """Where it was numbers or dates as far as the first rows say; cells are counted from there."""
    values = pd.Series([form.format(1 + i % 28) for i in range(ROWS - 50)] + [later] * 50)
    (found,) = decided({"c": values}, np.ones(ROWS, bool), [230], "standard")
    assert isinstance(found, CategoryColumn)
    assert len(found.categories) == 29


@pytest.mark.parametrize(
    ("asked", "values", "kind"),
    [
        ("numeric", ["1", "2", "x", "4"] * 30, NumberColumn),
        ("date", ["2024-01-01", "2024-01-02", "x", "2024-03-02"] * 30, DateColumn),
        ("categorical", list(range(30)) * 4, CategoryColumn),
        ("drop", list(range(120)), DroppedColumn),
        ("another reason", list(range(120)), DroppedColumn),
    ],
)
def test_what_a_user_asks_for(asked: str, values: list[Any], kind: type) -> None:
    columns = {"c": pd.Series(values), "d": pd.Series(range(120))}
    wanted = {"c": asked}
    rules = make_rules(2, "standard", asked=wanted)
    sketches = [ColumnSketch(name, each.iloc[:40], rules) for name, each in columns.items()]
    for start in (0, 50):
        for sketch in sketches:
            rows = columns[sketch.name].iloc[start : 50 if start == 0 else 120]
            sketch.add(rows, np.ones(len(rows), bool))
    found, other = decide_columns(sketches, rules, pd.DataFrame(columns))
    assert isinstance(found, kind)
    expected = in_order(TableEncoder.fit(pd.DataFrame(columns), asked=wanted))
    assert same(found, expected["c"])
    assert same(other, expected["d"])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=6), max_size=5))
def test_moments_of_pieces_are_those_of_all(pieces: list[list[float]]) -> None:
    found = sum(map(Moments.of, map(np.array, pieces)), Moments())
    every = np.array([number for piece in pieces for number in piece])
    assert found.count == len(every)
    if len(every):
        assert (found.low, found.high) == (every.min(), every.max())
        assert found.mean == pytest.approx(every.mean(), rel=1e-9, abs=1e-6)
        assert found.variance == pytest.approx(every.var(), rel=1e-7, abs=1e-3)


def test_counts_are_exact_while_there_is_room() -> None:
    texts = [f"v{v}" for v in RNG.integers(0, 150, 5000)]
    counted = CountedTexts(room=100)
    for start in range(0, 5000, 99):
        counted.add(pa.array(texts[start : start + 99]))
    assert counted.counts() == collections.Counter(texts)
    assert (counted.different, counted.missed) == (150, 0)


@pytest.mark.parametrize("order", ["mixed", "frequent last"])
def test_counts_beyond_the_room_keep_their_bound(order: str) -> None:
    texts = [f"v{v}" for v in np.minimum(RNG.zipf(1.2, 40_000), 10**9)]
    true = collections.Counter(texts)
    if order == "frequent last":
        texts.sort(key=lambda text: true[text])
    counted = CountedTexts(room=500)
    for start in range(0, len(texts), 1000):
        counted.add(pa.array(texts[start : start + 1000]))
    found = counted.counts()
    assert len(true) > 1000 >= len(found)
    assert 0 < counted.missed <= len(texts) / 500
    assert all(0 <= true[text] - count <= counted.missed for text, count in found.items())
    assert all(count <= counted.missed for text, count in true.items() if text not in found)
    assert counted.different == pytest.approx(len(true), rel=0.06)


CELLS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        [" 1", "1.0", "01", "1e3", "TRUE", "false", "1_000", "nan", "inf", "\u0663", "1e400"]
    ),
    st.integers(-20, 20).map(str),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(CELLS, min_size=1, max_size=20), st.lists(CELLS | st.none(), max_size=20))
def test_texts_have_the_codes_that_their_values_have(
    known: list[str], cells: list[str | None]
) -> None:
    column = CategoryColumn(
        "c", tuple(sorted({key for text in known if (key := category_key(text))}))
    )
    every = [*known, *cells, None]
    texts = pd.Series(every, dtype="string[pyarrow]")
    plain = pd.Series([text if text and text.strip() else None for text in every], dtype=object)
    assert column.encode(texts).tolist() == column.encode(plain).tolist()
