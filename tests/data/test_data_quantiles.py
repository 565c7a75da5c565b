from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.columns.number_column import NumberColumn
from meritnas.data.columns.quantiles import LEAST_SPREAD, quantile_knots

values = st.one_of(
    st.floats(-1e30, 1e30), st.integers(-3, 3).map(float), st.sampled_from([0.0, 1e-300, -1e-300])
)


@settings(max_examples=100)
@given(
    st.lists(values, min_size=2, max_size=60).filter(
        lambda drawn: max(drawn) - min(drawn) > LEAST_SPREAD
    ),
    st.lists(values, max_size=20),
    st.integers(2, 40),
)
def test_the_map_is_monotone(train: list[float], new: list[float], most: int) -> None:
    knots, heights = quantile_knots(np.array(train), most)
    assert 2 <= len(knots) <= most
    assert (np.diff(knots) > 0).all()
    assert (np.diff(heights) > 0).all()
    assert np.isfinite(heights).all()
    assert knots[0] == min(train)
    assert knots[-1] == pytest.approx(max(train), abs=1e-302)
    mapped = np.interp(sorted(train + new), knots, heights)
    assert (np.diff(mapped) >= -1e-12).all()
    own = np.interp(train, knots, heights)
    assert own.mean() == pytest.approx(0, abs=1e-6)
    assert own.std() == pytest.approx(1, rel=1e-6)


def encoded(train: np.ndarray, new: np.ndarray | None = None) -> np.ndarray:
    encoder = TableEncoder.fit(pd.DataFrame({"a": train}), scaling="quantile")
    frame = pd.DataFrame({"a": train if new is None else new})
    return encoder.transform(frame)[:, 0]


def test_long_tails_become_about_normal() -> None:
    mapped = np.sort(encoded(np.random.default_rng(0).lognormal(0, 4, 20_000)))
    normal = np.sort(np.random.default_rng(1).normal(size=20_000))
    assert np.abs(mapped - normal)[100:-100].max() < 0.1
    assert np.abs(mapped).max() < 4.1


def test_nothing_is_beyond_the_train_rows() -> None:
    train = np.random.default_rng(0).normal(size=1000)
    ends = encoded(train, np.array([train.min(), train.max()]))
    assert encoded(train, np.array([-1e30, 1e30])).tolist() == ends.tolist()


def test_ties_are_in_the_middle_of_their_place() -> None:
    train = np.concatenate([np.zeros(600), np.arange(1, 401)])
    encoder = NumberColumn.fit("a", train, 256)
    assert isinstance(encoder, NumberColumn)
    knots, heights = np.array(encoder.knots), np.array(encoder.heights)
    assert knots[0] == 0
    assert heights[1] - heights[0] > 0.5
    assert np.diff(heights)[1:-1].max() < 0.3


@pytest.mark.parametrize("pair", [(0.0, 1.0), (-2.5, 7.25), (3, 3)])
def test_two_values_stay_standardised(pair: tuple[float, float]) -> None:
    train = np.array([pair[0]] * 7 + [pair[1]] * 3 + [np.nan])
    for scaling in ("standard", "quantile"):
        encoder = TableEncoder.fit(pd.DataFrame({"a": train}), scaling=scaling)  # type: ignore[arg-type]
        assert encoder.number_columns[0].knots == ()
        assert encoder.number_columns[0].two_valued
        assert not encoder.scalable


def test_whether_scaling_matters() -> None:
    assert TableEncoder.fit(pd.DataFrame({"a": [0, 0, 1, 1, 4, 9]})).scalable
    assert not TableEncoder.fit(pd.DataFrame({"a": ["x", "y"]})).scalable


def test_missing_values_are_at_zero_with_an_indicator() -> None:
    train = pd.DataFrame({"a": [1.0, 2.0, 40.0, 500.0, np.nan]})
    encoder = TableEncoder.fit(train, scaling="quantile")
    assert encoder.transform(train)[-1].tolist() == [0, 1]
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again.transform(train).tobytes() == encoder.transform(train).tobytes()


def test_wide_tables_have_fewer_knots() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 4000)))
    encoder = TableEncoder.fit(frame, scaling="quantile")
    assert 80 < max(len(column.knots) for column in encoder.number_columns) <= 100
    narrow = TableEncoder.fit(frame.iloc[:, :3], scaling="quantile")
    assert 150 < max(len(column.knots) for column in narrow.number_columns) <= 256


def test_a_small_table_has_all_its_values_as_knots() -> None:
    train = np.random.default_rng(0).permutation(200) ** 3.0
    knots, _ = quantile_knots(train, 256)
    np.testing.assert_array_equal(knots, np.sort(train))
