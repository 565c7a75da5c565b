"""Fill values, slips and other huge numbers: what is encoded is always finite."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.bound import FARTHEST
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.columns.far_values import find_far_values
from meritnas.data.modalities.description import describe_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.tables.graph import TableRows
from meritnas.data.task import Task
from meritnas.errors import DataError

RNG = np.random.default_rng(0)
ORDINARY = RNG.normal(10, 3, 60)
FILLS = [1e30, -1e30, 9.969209968386869e36, 1e20, 3.4028234663852886e38, 1.7976931348623157e308]
SCALINGS = ("standard", "quantile")

finite = st.floats(allow_nan=False, allow_infinity=False)
# What floats end with, on both sides, is drawn more often than by itself.
ends = st.sampled_from([5e-324, 2.2250738585072014e-308, 1e-300, 1e15, 1e99, 1e100, 1.7e308])
cells = st.one_of(finite, ends, ends.map(lambda end: -end), st.just(0.0), st.just(np.nan))


def with_cell(value: float, place: int = 7) -> np.ndarray:
    found = ORDINARY.copy()
    found[place] = value
    return found


def fit(values: Any, scaling: Any = "standard", **options: Any) -> TableEncoder:
    frame = pd.DataFrame({"a": values, "b": np.arange(len(values)) % 7 + 0.5})
    return TableEncoder.fit(frame, scaling=scaling, **options)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("value", FILLS)
def test_one_fill_value_is_a_missing_value(value: float, scaling: str) -> None:
    found, missing = fit(with_cell(value), scaling), fit(with_cell(np.nan), scaling)
    (column, other) = found.number_columns[0], missing.number_columns[0]
    assert column.indicator
    assert (column.mean, column.scale, column.knots) == (other.mean, other.scale, other.knots)
    frame = pd.DataFrame({"a": with_cell(value), "b": ORDINARY})
    gap = frame.assign(a=with_cell(np.nan))
    assert found.transform(frame).tobytes() == missing.transform(gap).tobytes()


@pytest.mark.parametrize("value", FILLS)
def test_fill_values_are_named(value: float) -> None:
    encoder = fit(with_cell(value))
    (warning,) = encoder.warnings
    assert warning.startswith(f"column 'a': 1 value from 1e+15 on, such as {value:g}, counts as")
    assert f"the others are at most {ORDINARY.max():g}" in warning
    assert "1 from 1e+15 on count as missing" in encoder.describe()[0].details


def test_fill_values_are_found_in_all_rows_but_nothing_else_is_learned_there() -> None:
    train = np.arange(40)
    encoder, plain = (fit(values, rows=train) for values in (with_cell(1e30, 50), ORDINARY))
    assert not encoder.number_columns[0].indicator
    assert encoder.number_columns[0].mean == plain.number_columns[0].mean
    frame = pd.DataFrame({"a": with_cell(1e30, 50), "b": ORDINARY})
    assert encoder.transform(frame)[50, 0] == 0.0


def test_however_many_fill_values_there_are() -> None:
    many = np.where(np.arange(300) % 3 > 0, 9.97e36, np.arange(300) / 7)
    far = find_far_values(many)
    assert far is not None
    assert (far.count, far.example, far.limit) == (200, 9.97e36, 1e15)
    slips = RNG.normal(size=1000)
    slips[:10] = 10.0 ** np.arange(20, 30)  # all of them different, but one in a hundred
    found = find_far_values(slips)
    assert found is not None
    assert found.count == 10


@pytest.mark.parametrize(
    "values",
    [
        10**18 + np.arange(60.0) * 1e15,  # identifiers
        RNG.normal(size=60) * 1e20,  # a small unit
        np.where(np.arange(60) % 2, 0.0, RNG.uniform(1e15, 1e20, 60)),  # none, or a lot
        np.where(np.arange(60) % 3, 1.7e18 + np.arange(60) * 1e12, 0.0),  # nanoseconds, or none
        np.append(RNG.normal(size=59), -9999.0),
        np.append(RNG.normal(size=59), 1e14),
        np.append(np.zeros(59), 1e30),  # two values, both of which count
        10.0 ** np.arange(-10, 50),  # many powers of ten
    ],
)
def test_columns_of_huge_numbers_stay_as_they_are(values: np.ndarray) -> None:
    assert find_far_values(values) is None
    encoder = fit(values)
    assert encoder.warnings == ()
    column = encoder.number_columns[0]
    assert (column.low, column.high) == (values.min(), values.max())
    expected = ((values - values.mean()) / values.std()).astype(np.float32)
    frame = pd.DataFrame({"a": values, "b": 0.5})
    np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected)


def test_a_fill_value_among_huge_numbers() -> None:
    values = np.append(np.where(np.arange(59) % 2, 0.0, RNG.uniform(1e18, 9e18, 59)), 1e37)
    far = find_far_values(values)
    assert far is not None
    assert far.count == 1
    assert 9e18 < far.limit <= 1e37


def test_a_column_beyond_all_numbers_is_left_out() -> None:
    assert "1e+100 and more" in fit(ORDINARY * 1e200).dropped[0].reason


@pytest.mark.parametrize("scaling", SCALINGS)
def test_new_cells_far_outside_are_bounded_and_named(scaling: str) -> None:
    encoder = fit(ORDINARY, scaling)
    new = pd.DataFrame({"a": [1e30, -1e39, 1.7e308, *ORDINARY[:9]], "b": 0.5})
    inputs = encoder.transform(new)
    ordinary = encoder.transform(new.iloc[3:])
    np.testing.assert_array_equal(inputs[3:], ordinary)
    ends = [FARTHEST, -FARTHEST, FARTHEST]
    if scaling == "quantile":
        heights = encoder.number_columns[0].heights
        ends = [heights[-1], heights[0], heights[-1]]
    np.testing.assert_allclose(inputs[:3, 0], ends, rtol=1e-6)
    (note,) = encoder.unfamiliar(new)
    assert "column 'a': 3 of 12 values are outside the range that was trained on" in note
    assert ": 3, such as 1e+30" in note
    assert encoder.unfamiliar(new.iloc[3:]) == []


def test_new_fill_values_count_as_missing_where_they_did() -> None:
    encoder = fit(with_cell(9.97e36))
    new = pd.DataFrame({"a": [1e30, np.nan, 1e12, 10.0], "b": 0.5})
    inputs = encoder.transform(new)
    assert inputs[:, 0].tolist()[:3] == [0.0, 0.0, FARTHEST]
    assert inputs[:, 2].tolist() == [1.0, 1.0, 0.0, 0.0]
    (note,) = encoder.unfamiliar(new)
    assert "taken as missing: 1, such as 1e+30" in note
    assert "taken as 10,000 sd from the mean: 1, such as 1e+12" in note


def test_an_encoder_of_an_older_version_is_bounded_too() -> None:
    old = {"name": "a", "mean": 10.0, "scale": 3.0, "indicator": False}
    empty: dict[str, Any] = {"categories": [], "dropped": []}
    encoder = TableEncoder.from_json({"numbers": [old], **empty})
    new = pd.DataFrame({"a": [1e30, 13.0]})
    assert encoder.transform(new)[:, 0].tolist() == [FARTHEST, 1.0]
    (note,) = encoder.unfamiliar(new)
    assert "1 of 2 values are outside what was trained on" in note


@pytest.mark.parametrize("value", [np.inf, -np.inf, "1e400", 10**400])
@pytest.mark.parametrize("place", [7, 50])
def test_infinite_cells_are_counted_over_all_rows(value: Any, place: int) -> None:
    values = ORDINARY.astype(object)
    values[place] = value
    with pytest.raises(DataError, match="column 'a' holds infinite values, 1 among 60 rows"):
        fit(values, rows=np.arange(40))


@pytest.mark.parametrize("value", [10**30, "1e30", np.iinfo(np.int64).min])
def test_whole_numbers_and_text_are_taken_alike(value: Any) -> None:
    values = list(range(60))
    encoder = fit(pd.Series([*values, value], dtype=object))
    assert encoder.number_columns[0].far is not None


@pytest.mark.parametrize("far", [9 * 10**12, 9 * 10**18])
def test_dates_beyond_the_calendar_are_named(far: int) -> None:
    with pytest.raises(DataError, match="after the year 9999"):
        fit(pd.Series(np.append(np.arange(59), far).astype("datetime64[s]")))


@pytest.mark.parametrize(
    "days",
    [
        np.append(np.arange(59), 253_402_300_799).astype("datetime64[s]"),
        [*pd.date_range("2020-01-01", periods=59).strftime("%Y-%m-%d"), "9999-12-31"],
    ],
)
def test_dates_of_any_year_are_encoded_and_shown(days: Any) -> None:
    encoder = fit(days)
    frame = pd.DataFrame({"a": days, "b": 0.5})
    assert np.isfinite(encoder.transform(frame)).all()
    assert encoder.describe()[1].taken_as == "date"
    assert encoder.unfamiliar(frame) == []


def test_dates_far_outside_are_bounded_and_named() -> None:
    encoder = fit(pd.date_range("2020-01-01", periods=60, freq="min"))
    new = pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 4 + ["2200-01-01"]), "b": 0.5})
    assert encoder.transform(new)[4, 1] == FARTHEST
    (note,) = encoder.unfamiliar(new)
    assert "taken as 10,000 sd from the mean: 1, such as 2200-01-01" in note


@settings(max_examples=150, deadline=None)
@given(
    st.lists(cells, min_size=3, max_size=12),
    st.lists(cells, min_size=1, max_size=12),
    st.sampled_from(SCALINGS),
)
def test_whatever_is_encoded_is_finite_and_the_same_in_a_graph(
    train: list[float], new: list[float], scaling: Any
) -> None:
    frame = pd.DataFrame({"a": train, "b": np.arange(len(train)) + 0.5})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder.fit(frame, scaling=scaling)
        again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
        assert again == encoder
        other = pd.DataFrame({"a": [*new, *train], "b": 0.5})
        inputs = encoder.transform(other)
        encoder.unfamiliar(other)
    numbers = [column.name for column in encoder.number_columns]
    assert np.isfinite(inputs).all()
    assert np.abs(inputs[:, : encoder.numbers]).max() <= FARTHEST
    if not encoder.category_columns:
        raw = torch.tensor(other[numbers].to_numpy(float))
        np.testing.assert_allclose(TableRows(encoder)(raw), inputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("value", [1e30, -9.97e36, 1e15])
def test_a_fill_value_in_a_target_is_named_with_its_rows(value: float) -> None:
    target = pd.Series(with_cell(value), name="y")
    with pytest.raises(DataError, match=r"'y' holds .* in row 8, counted from 1.*drop these rows"):
        Task.find(target, np.arange(40))
    target[:] = np.where(np.arange(60) % 10 == 9, value, target)
    with pytest.raises(DataError, match=r"in 7 rows \(8, 10, 20, 30, 40, ... and 2 more\)"):
        Task.find(target, np.arange(40))
    huge = Task.find(pd.Series(ORDINARY * 1e30, name="y"), np.arange(40))
    assert np.isfinite(huge.codes(pd.Series(ORDINARY * 1e30))).all()


def test_an_answer_that_squares_cannot_hold_is_refused() -> None:
    task = Task("regression", "y", (), 0.0, 1e-10)
    with pytest.raises(DataError, match="'y' holds 1e\\+20 in 1 rows, more than 1e\\+15 standard"):
        task.codes(pd.Series([0.0, 1e20]))
    assert np.isfinite(task.codes(pd.Series([0.0, 1e4]))).all()


def views(value: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {
        "sound": rng.normal(size=(60, 4)),
        "photo": rng.random((60, 5, 6)),
        "clip": (rng.normal(size=(60, 3)), rng.normal(size=(60, 2, 5))),
    }
    found["sound"][3, 1] = found["photo"][4, 0, 0] = value
    found["clip"][1][5, 1, 2] = value
    found["sound"][9] = value
    return found


@pytest.mark.parametrize("value", FILLS)
def test_fill_values_of_arrays_are_missing_values(value: float) -> None:
    rows = np.arange(60)
    found, gaps = views(value), views(np.nan)
    encoder, other = ModalityEncoder.fit(found, rows), ModalityEncoder.fit(gaps, rows)
    inputs = encoder.transform(found)
    assert torch.equal(inputs, other.transform(gaps))
    assert inputs[9, 0] == 0  # a sample whose numbers are all fill values lacks the modality
    again = ModalityEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    assert again == encoder
    (told,) = [text for text in encoder.warnings if "'sound'" in text and "beyond" in text]
    assert f"5 numbers, such as {value:g}, are far beyond all others and count as missing" in told
    features = describe_modalities(encoder)["modalities"][0]["features"]
    assert features[0]["missing_from"] == [1e15] * 4


def test_far_numbers_of_new_samples_are_named() -> None:
    rows = np.arange(60)
    encoder = ModalityEncoder.fit(views(0.5), rows)
    inputs = encoder.transform(views(1e30))
    assert ((inputs >= 0) & (inputs <= 1)).all()
    assert encoder.unfamiliar(views(0.5)) == []
    notes = encoder.unfamiliar(views(1e30))
    assert [note.split(",")[0] for note in notes] == [
        "modality 'sound': 5 numbers",
        "modality 'photo': 1 numbers",
        "modality 'clip': 1 numbers",
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=3, max_size=10), st.lists(cells, max_size=6))
def test_whatever_a_vector_holds_its_inputs_are_from_0_to_1(
    train: list[tuple[float, float]], new: list[float]
) -> None:
    array = np.array(train)
    array[0] = 1.0  # else no sample may have the modality
    known = {"v": array, "w": np.arange(len(array)) * 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = ModalityEncoder.fit(known, np.arange(len(array)))
        other = np.array([*array, *((value, value) for value in new)])
        inputs = encoder.transform({"v": other, "w": np.zeros(len(other))})
    assert ((inputs >= 0) & (inputs <= 1)).all()
