"""The best network under scores of options and of pairs of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute_force import Problem, any_problems, plain_space, total
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.pair_scores import best_in_pairs

Pairs = dict[tuple[int, int], np.ndarray]


def score(rows: list[np.ndarray], pairs: Pairs, picks: tuple[int, ...]) -> float:
    """The definition."""
    return total(rows, picks) + sum(float(t[picks[i], picks[j]]) for (i, j), t in pairs.items())


@settings(max_examples=120, suppress_health_check=[HealthCheck.filter_too_much])
@given(any_problems(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.4, 1.0]))
def test_it_is_what_enumeration_finds(problem: Problem, seed: int, share: float) -> None:
    fitting = problem.fitting()
    assume(fitting)
    rng = np.random.default_rng(seed)
    sizes = problem.space.sizes
    rows = [rng.normal(size=size) for size in sizes]
    pairs = {
        (i, j): 2 * rng.normal(size=(sizes[i], sizes[j]))
        for i, j in itertools.combinations(range(len(sizes)), 2)
        if rng.random() < share
    }
    found = best_in_pairs(problem.feasible().diagram, rows, pairs, 10_000)
    assert found in fitting
    expected = max(score(rows, pairs, picks) for picks in fitting)
    assert score(rows, pairs, found) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_long_chain_of_pairs_is_exact_and_what_is_too_wide_says_so() -> None:
    rng = np.random.default_rng(0)
    count, options = 40, 5
    diagram = FeasibleSet(plain_space((options,) * count), {}).diagram
    rows = [rng.normal(size=options) for _ in range(count)]
    chain = {(i, i + 1): rng.normal(size=(options, options)) for i in range(count - 1)}
    found = best_in_pairs(diagram, rows, chain, options)
    assert found is not None
    ahead = np.zeros(options)  # the same from the end, decision by decision
    for i in range(count - 1, 0, -1):
        ahead = (chain[i - 1, i] + rows[i] + ahead).max(axis=1)
    assert score(rows, chain, found) == pytest.approx((rows[0] + ahead).max())
    wide = dict.fromkeys(itertools.combinations(range(12), 2), chain[0, 1])
    assert best_in_pairs(diagram, rows, wide, 1000) is None
