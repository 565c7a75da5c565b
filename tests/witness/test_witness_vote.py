from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from meritnas.witness.vote import order, rank_sums, ranks

VALUES = arrays(
    np.float64, st.integers(1, 9), elements=st.sampled_from([-np.inf, np.nan, -1.5, 0.0, 2.0, 7.0])
)


def test_the_largest_has_rank_one_and_equals_share_the_mean_of_their_places() -> None:
    assert ranks(np.array([0.5, 3.0, 0.5, -1.0])).tolist() == [2.5, 1.0, 2.5, 4.0]


@given(VALUES)
def test_whoever_cannot_be_judged_comes_last(values: np.ndarray) -> None:
    found = ranks(values)
    assert found.sum() == len(values) * (len(values) + 1) / 2
    unknown = ~(values > -np.inf)
    if unknown.any() and not unknown.all():
        assert found[unknown].min() == found[unknown].max() > found[~unknown].max()


@given(VALUES)
def test_a_witness_who_knows_nothing_has_no_say(values: np.ndarray) -> None:
    said = {"knows": values, "knows not": np.full(len(values), np.nan)}
    weights = {"knows": 1.0, "knows not": 5.0}
    assert order(said, weights).tolist() == order({"knows": values}, weights).tolist()


def test_sums_are_weighted_and_units_do_not_matter() -> None:
    loss, size = np.array([-0.3, -0.1, -0.2]), np.array([300.0, 100.0, 200.0])
    said = {"loss": loss, "size": size}
    assert rank_sums(said, {"loss": 1.0, "size": 0.5}).tolist() == [3.5, 2.5, 3.0]
    assert order(said, {"loss": 1.0, "size": 0.5}).tolist() == [1, 2, 0]
    assert order(said, {"loss": 0.5, "size": 1.0}).tolist() == [0, 2, 1]
    # All have the same sum: they stay as they were.
    assert order(said, {"loss": 1.0, "size": 1.0}).tolist() == [0, 1, 2]
    scaled = {"loss": 1e6 * loss, "size": np.log(size)}
    assert order(scaled, {"loss": 1.0, "size": 0.5}).tolist() == [1, 2, 0]
