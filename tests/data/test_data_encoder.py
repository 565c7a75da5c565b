from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.cells import category_key
from meritnas.data.columns.encoder import CategoryColumn, NumberColumn, TableEncoder
from meritnas.data.files.table import read_table
from meritnas.errors import DataError, UsageError


def fit(**columns: Any) -> TableEncoder:
    return TableEncoder.fit(pd.DataFrame(columns))


def reason(values: Any) -> str:
    encoder = fit(other=np.arange(len(values)) / 7, column=values)
    assert [column.name for column in encoder.dropped] == ["column"]
    return encoder.dropped[0].reason


def test_layout() -> None:
    frame = pd.DataFrame(
        {
            "color": ["red", None, " blue", "red"],
            "gap": [1.0, np.nan, 3.5, 7.5],
            "full": [1.5, 2.5, 3.5, 4.5],
        }
    )
    encoder = TableEncoder.fit(frame)
    inputs = encoder.transform(frame)
    assert (encoder.numbers, encoder.cardinalities, encoder.width) == (3, (3,), 4)
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(
        inputs[:, 0], [(v - 4) / np.std([1, 3.5, 7.5]) for v in [1, 4, 3.5, 7.5]]
    )
    np.testing.assert_allclose(inputs[:, 1].mean(), 0, atol=1e-6)
    np.testing.assert_allclose(inputs[:, 1].std(), 1, rtol=1e-6)
    assert inputs[:, 2].tolist() == [0, 1, 0, 0]
    assert inputs[:, 3].tolist() == [2, 0, 1, 2]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, 4],
        [0, 1, 0, 1],
        [0.5, 1.5, 2.5, 0.5],
        ["1", "2.5", "-3e2", None],
        pd.Categorical(["10", "20", "30", "40"]),
        pd.to_timedelta([1, 2, 3, 4], unit="D"),
        pd.array([1, 2, None, 4, 5], dtype="Int64"),
        [5.0, None, 5.0, None],
    ],
)
def test_number_columns(values: Any) -> None:
    encoder = fit(a=values)
    assert [type(column) for column in encoder.number_columns] == [NumberColumn]
    assert not encoder.category_columns
    assert np.isfinite(encoder.transform(pd.DataFrame({"a": values}))).all()


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        (["b", "a", "b", None], ("a", "b")),
        ([True, False, True, True], ("False", "True")),
        ([True, False, None, True], ("False", "True")),
        ([0, 2, 1, 0], ("0", "1", "2")),
        ([0.0, 2.0, np.nan, 1.0], ("0", "1", "2")),
        (["1", "2", "x", "1"], ("1", "2", "x")),
        (["x", None, "x", " x "], ("x",)),
        ([[1], [2], [1], [2]], ("[1]", "[2]")),
    ],
)
def test_category_columns(values: list[Any], categories: tuple[str, ...]) -> None:
    assert fit(a=values).category_columns == (CategoryColumn("a", categories),)


def test_dropped_columns() -> None:
    assert reason([7.0] * 5) == "constant, 7 in every row"
    assert reason(["x"] * 5) == "constant, 'x' in every row"
    assert reason([None] * 5) == "all values are missing"
    assert reason([np.nan] * 5) == "all values are missing"
    assert reason(["", " "] * 5) == "all values are missing"
    assert reason([f"name{i}" for i in range(30)]).startswith("nearly unique text")


def test_text_of_a_small_table_is_kept() -> None:
    assert fit(a=[f"name{i}" for i in range(20)]).cardinalities == (21,)


def test_warnings_are_sentences() -> None:
    encoder = fit(a=[1.5, 2.5], b=[1, 1])
    assert encoder.warnings == ("column 'b' is left out: constant, 1 in every row",)


def test_nothing_left() -> None:
    with pytest.raises(DataError, match=r"no column is left.*'a' \(constant"):
        fit(a=[1, 1])
    with pytest.raises(DataError, match="only the target"):
        TableEncoder.fit(pd.DataFrame(index=range(5)))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_name_the_column(value: float) -> None:
    with pytest.raises(DataError, match="column 'income' holds infinite"):
        fit(income=[1.5, 2.5, value])
    encoder = fit(income=[1.5, 2.5, 3.5])
    with pytest.raises(DataError, match="column 'income' holds infinite"):
        encoder.transform(pd.DataFrame({"income": [value]}))


def test_columns_may_come_in_another_order_with_others() -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"], "c": [4.5, 3.5]})
    encoder = TableEncoder.fit(frame)
    other = frame[["c", "b", "a"]].assign(extra=["?", "!"])
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(frame))


def test_columns_that_are_not_there() -> None:
    encoder = fit(a=[1.5, 2.5], b=["x", "y"], c=[4.5, 3.5])
    with pytest.raises(DataError, match="lacks 2 columns it needs: c, b; columns found: a"):
        encoder.transform(pd.DataFrame({"a": [1.0]}))


def test_text_in_a_number_column() -> None:
    with pytest.raises(DataError, match="column 'a' holds 'tall' where a number is needed"):
        fit(a=[1.5, 2.5]).transform(pd.DataFrame({"a": ["1.5", " ", None, "tall"]}))


def test_number_text_and_blanks_in_a_number_column() -> None:
    inputs = fit(a=[1.5, 2.5]).transform(pd.DataFrame({"a": ["1.5", " ", None, "2.5"]}))
    assert inputs[:, 0].tolist() == [-1, 0, 0, 1]


@pytest.mark.parametrize("dtype", ["int64", "float64", "object", "Int64", "str", "category"])
def test_codes_do_not_depend_on_how_a_file_was_parsed(dtype: str) -> None:
    encoder = fit(a=[1, 2, 3, 1])
    new = pd.DataFrame({"a": pd.Series([3, 1, 4]).astype(dtype)})
    assert encoder.transform(new)[:, 0].tolist() == [3, 1, 0]


def test_integers_read_as_floats_from_a_file_with_gaps(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a,b\n1,1.5\n2,2.5\n3,3.5\n1,4.5\n")
    (tmp_path / "new.csv").write_text("a,b\n3,1.5\n,2.5\n1,3.5\n")
    encoder = TableEncoder.fit(read_table(tmp_path / "train.csv"))
    new = read_table(tmp_path / "new.csv")
    assert new["a"].dtype == np.float64
    assert encoder.transform(new)[:, 1].tolist() == [3, 0, 1]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (1, "1"),
        (1.0, "1"),
        (" 1.0 ", "1"),
        ("01", "1"),
        (-0.0, "0"),
        (1.5, "1.5"),
        ("1.50", "1.5"),
        (True, "True"),
        ("TRUE", "True"),
        ("1_000", "1_000"),
        ("nan", "nan"),
        (2**60 + 1, str(2**60 + 1)),
    ],
)
def test_category_key(value: object, key: str) -> None:
    assert category_key(value) == key


def test_no_rows_to_encode() -> None:
    encoder = fit(a=[1.5, 2.5], b=["x", "y"])
    assert encoder.transform(pd.DataFrame({"a": [], "b": []})).shape == (0, 2)


def test_names_that_are_not_text() -> None:
    encoder = TableEncoder.fit(pd.DataFrame({0: [1.5, 2.5], 1: [3.5, 9.5]}))
    assert encoder.transform(pd.DataFrame({"1": [3.5], "0": [1.5]})).tolist() == [[-1, -1]]


def test_names_that_occur_twice() -> None:
    frame = pd.DataFrame([[1.5, 3.5], [2.5, 9.5]], columns=["a", "a"])
    encoder = TableEncoder.fit(frame)
    assert [column.name for column in encoder.number_columns] == ["a", "a.1"]
    assert encoder.transform(frame).tolist() == [[-1, -1], [1, 1]]
    renamed = pd.DataFrame({"a.1": [9.5], "a": [1.5]})
    assert encoder.transform(renamed).tolist() == [[-1, 1]]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (range(30), "row numbers"),
        (range(1, 31), "row numbers"),
        (np.random.default_rng(0).permutation(99)[:30], "row numbers"),
        ([f"car{i}" for i in range(30)], "row names"),
        (["a", "b", "c"] * 10, None),
        (np.arange(30) / 4, None),
        ([0, *range(29)], None),
    ],
)
def test_a_first_column_that_only_tells_rows_apart(
    name: str, values: Any, reason: str | None
) -> None:
    frame = pd.DataFrame({name: list(values), "x": np.arange(30) % 7, "y": np.arange(30) / 8})
    encoder = TableEncoder.fit(frame, rows=np.arange(5, 25))
    found = {column.name: column.reason for column in encoder.dropped}
    assert found == ({name: reason} if reason else {})
    if reason:
        without = encoder.transform(frame.drop(columns=name))
        np.testing.assert_array_equal(encoder.transform(frame), without)
    last = TableEncoder.fit(frame[["x", "y", name]])
    assert not {column.reason for column in last.dropped} & {"row numbers", "row names"}


def test_kinds_are_seen_from_all_rows_and_the_rest_from_the_train_rows() -> None:
    frame = pd.DataFrame({"a": ["1", "2", "x", "1"], "b": [1.0, 3.0, 500.0, np.nan]})
    encoder = TableEncoder.fit(frame, rows=np.array([0, 1]))
    assert encoder.category_columns[0].categories == ("1", "2")
    number = encoder.number_columns[0]
    assert (number.mean, number.scale, number.indicator) == (2.0, 1.0, False)
    assert (number.low, number.high) == (1.0, 3.0)
    assert encoder.transform(frame)[:, -1].tolist() == [1, 2, 0, 1]


def mixed(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.lognormal(0, 3, n), "flag": rng.random(n) < 0.5})
    frame["gap"] = frame["x"].where(rng.random(n) < 0.8)
    frame["kind"] = pd.Series(rng.choice(["p", "q", None], n))
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="h")
    frame["text"] = frame["when"].dt.strftime("%d/%m/%Y")
    return frame


@settings(max_examples=30)
@given(st.data())
def test_encoding_some_rows_is_some_of_the_encoding(data: st.DataObject) -> None:
    frame = mixed(60, data.draw(st.integers(0, 99)))
    rows = np.array(data.draw(st.lists(st.integers(0, 59), max_size=40)), dtype=np.int64)
    train = np.array(sorted(data.draw(st.sets(st.integers(0, 59), min_size=20))))
    scaling = data.draw(st.sampled_from(["standard", "quantile"]))
    encoder = TableEncoder.fit(frame, train, scaling)
    assert encoder == TableEncoder.fit(frame.iloc[train], scaling=scaling)
    np.testing.assert_array_equal(encoder.transform(frame, rows), encoder.transform(frame)[rows])
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    assert again == encoder


def test_many_rows_are_encoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = mixed(100, 0)
    encoder = TableEncoder.fit(frame, scaling="quantile")
    whole = encoder.transform(frame)
    monkeypatch.setattr("meritnas.data.columns.encoder._ROWS_AT_ONCE", 7)
    np.testing.assert_array_equal(encoder.transform(frame), whole)
    rows = np.arange(99, 0, -3)
    np.testing.assert_array_equal(encoder.transform(frame, rows), whole[rows])


def test_unknown_scaling() -> None:
    with pytest.raises(UsageError, match="no scaling 'log'; use 'standard' or 'quantile'"):
        TableEncoder.fit(mixed(20, 0), scaling="log")  # type: ignore[arg-type]


def test_at_least_one_category_is_kept() -> None:
    with pytest.raises(UsageError, match="most_categories must be at least 1, got 0"):
        TableEncoder.fit(mixed(20, 0), most_categories=0)


def test_preprocessing_of_older_versions() -> None:
    old = {
        "numbers": [{"name": "x", "mean": 1.0, "scale": 2.0, "indicator": True}],
        "categories": [{"name": "c", "categories": ["a", "b"]}],
        "dropped": [{"name": "d", "reason": "constant"}],
    }
    encoder = TableEncoder.from_json(old)
    new = pd.DataFrame({"x": [3.0, None], "c": ["b", "z"]})
    assert encoder.transform(new).tolist() == [[1, 0, 2], [0, 1, 0]]
    assert encoder.unfamiliar(new) == []


def test_describe() -> None:
    frame = mixed(60, 0).assign(same=1)
    rows = TableEncoder.fit(frame, scaling="quantile").describe()
    assert {row.column: row.taken_as for row in rows} == {
        "x": "number",
        "gap": "number",
        "flag": "category",
        "kind": "category",
        "when": "date",
        "text": "date",
        "same": "left out",
    }
    details = {row.column: row.details for row in rows}
    assert details["x"].endswith("quantile scaling")
    assert details["gap"].endswith("missing values have an indicator")
    assert details["kind"] == "2 kept"
    assert details["when"].startswith("2024-01-02 to 2024-02-11; time, month")
    assert details["same"] == "constant, 1 in every row"


def test_unfamiliar_columns() -> None:
    frame = mixed(60, 0)
    encoder = TableEncoder.fit(frame)
    assert encoder.unfamiliar(frame) == []
    assert encoder.unfamiliar(frame.iloc[:0].assign(x=1.0)) != []
    strange = frame.assign(
        x=frame["x"].max() + 1, gap=np.nan, kind="r", when=frame["when"] + pd.Timedelta(days=900)
    )
    notes = "\n".join(encoder.unfamiliar(strange))
    assert "column 'x': 60 of 60 values are outside the range" in notes
    assert "column 'gap' has no values" in notes
    assert "column 'kind': 60 of 60 values are no category that was trained on" in notes
    assert "column 'when': 60 of 60 dates are outside the time" in notes
    assert len(encoder.unfamiliar(strange)) == 4
    few = frame.assign(kind=["r"] * 15 + ["p"] * 45)
    assert encoder.unfamiliar(few) == []


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_many_columns(scaling: Any) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2000)))
    encoder = TableEncoder.fit(frame, scaling=scaling)
    assert encoder.transform(frame).shape == (50, 2000)


cells = st.one_of(
    st.none(),
    st.text(alphabet="abc 1.", max_size=3),
    st.integers(-5, 5),
    st.floats(-1e30, 1e30),
    st.booleans(),
)
numbers = st.one_of(st.none(), st.floats(-1e30, 1e30))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(cells, min_size=4, max_size=12),
    st.lists(numbers, min_size=12, max_size=12),
    st.integers(0, 99),
)
def test_round_trip_encodes_bit_for_bit(
    mixed: list[Any], column: list[float | None], seed: int
) -> None:
    n = len(mixed)
    frame = pd.DataFrame(
        {
            "mixed": pd.Series(mixed, dtype=object),
            "number": pd.Series(column[:n], dtype=float),
            "random": np.random.default_rng(seed).normal(size=n),
        }
    )
    encoder = TableEncoder.fit(frame)
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    inputs = encoder.transform(frame)
    assert inputs.tobytes() == again.transform(frame).tobytes()
    assert inputs.shape == (n, encoder.numbers + len(encoder.cardinalities))
    assert np.isfinite(inputs).all()
    codes = inputs[:, encoder.numbers :]
    assert ((codes >= 0) & (codes < np.array(encoder.cardinalities, dtype=float))).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=3, max_size=20).filter(
        lambda values: len(set(values)) > 1
    ),
    st.lists(st.sampled_from(["a", "b", "c", "d", "e", None]), min_size=1, max_size=20),
)
def test_unseen_categories_have_code_zero(train: list[str], new: list[str | None]) -> None:
    codes = fit(a=train).transform(pd.DataFrame({"a": pd.Series(new, dtype=object)}))[:, 0]
    known = sorted(set(train))
    assert codes.tolist() == [known.index(v) + 1 if v in known else 0 for v in new]


def test_three_codes_are_categories_only_where_they_prevail() -> None:
    rng = np.random.default_rng(0)
    board = pd.DataFrame({f"square{i}": rng.integers(0, 3, 60) for i in range(4)})
    assert len(TableEncoder.fit(board).category_columns) == 4
    mixed = board[["square0"]].assign(**{f"x{i}": rng.normal(size=60) for i in range(4)})
    assert TableEncoder.fit(mixed).category_columns == ()


def test_every_input_has_a_name_in_its_order() -> None:
    days = pd.date_range("2024-01-01", periods=40, freq="9D").to_series(index=range(40))
    frame = pd.DataFrame(
        {
            "kind": ["p", "q"] * 20,
            "day": days.mask(days.index == 3),
            "age": [None, *map(float, range(39))],
            "size": np.arange(40) ** 2.0,
        }
    )
    encoder = TableEncoder.fit(frame)
    waves = [f"day_{cycle}_{wave}" for cycle in ("month", "weekday") for wave in ("sin", "cos")]
    names = ["age", "size", "day_time", *waves, "age_missing", "day_missing", "kind"]
    assert list(encoder.input_names) == names
    found = pd.DataFrame(encoder.transform(frame), columns=names)
    assert found["age_missing"].tolist() == [1.0] + [0.0] * 39
    assert found["day_missing"].tolist() == [0.0] * 3 + [1.0] + [0.0] * 36
    assert found["kind"].tolist() == [1.0, 2.0] * 20
    np.testing.assert_allclose(
        found["day_month_sin"] ** 2 + found["day_month_cos"] ** 2,
        1.0 - found["day_missing"],
        atol=1e-6,
    )
