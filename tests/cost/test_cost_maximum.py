"""Costs that are the largest of several sums."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import Problem, cost_of, plain_space, random_maximum, random_terms
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.cost import build
from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor, Limit
from meritnas.errors import InfeasibleError, SpaceError
from meritnas.space.rule import both, follows


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_values_are_those_of_the_largest_sum_on_parts_of_a_space_too(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 5, 4).tolist())
    cost = random_maximum(sizes, rng, count, 40)
    every = Problem(plain_space(sizes), {}, ()).product()
    values = cost.of(np.array(every))
    assert values.tolist() == [cost_of(cost, picks) for picks in every]
    assert values.max() <= cost.most
    kept = [np.sort(rng.permutation(n)[: rng.integers(1, n + 1)]) for n in sizes]
    fewer = cost.restrict(kept)
    inside = [p for p in every if all(a in k for a, k in zip(p, kept, strict=True))]
    renamed = [[int(np.searchsorted(k, a)) for a, k in zip(p, kept, strict=True)] for p in inside]
    assert fewer.of(np.array(renamed)).tolist() == [cost_of(cost, picks) for picks in inside]


def test_a_limit_below_the_smallest_maximum_names_it() -> None:
    sizes = (3, 3)
    table = np.add.outer([5, 2, 9], [4, 7, 1])  # the smallest is 2 + 1
    cost = LargestSum(sizes, (CostTerms(sizes, 0, (Factor((0, 1), table),), "bytes"),), "bytes")
    space = plain_space(sizes)
    with pytest.raises(InfeasibleError, match=r"limit of 2 bytes is below .* o1-o2 with 3; set"):
        FeasibleSet(space, {"peak": cost}, [Limit("peak", 2)])
    assert FeasibleSet(space, {"peak": cost}, [Limit("peak", 3)]).count() == 1


def test_sums_that_one_key_cannot_hold_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sizes = (3, 4, 3, 4, 3)
    costs = {
        "peak": random_maximum(sizes, rng, 12, 300),
        "sum": random_terms(sizes, rng, 1, 90, 0.5),
    }
    space = plain_space(sizes)
    every = Problem(space, {}, ()).product()
    limits = tuple(
        Limit(name, int(np.median([cost_of(cost, picks) for picks in every])))
        for name, cost in costs.items()
    )
    problem = Problem(space, costs, limits)
    expected = len(problem.fitting())
    assert 0 < expected < len(every)
    assert problem.feasible().count() == expected
    monkeypatch.setattr(build, "_KEY_BITS", 24)
    feasible = problem.feasible()
    assert feasible.exact
    assert feasible.count() == expected


def test_where_it_would_be_too_large_no_limit_is_broken_and_it_says_so() -> None:
    rng = np.random.default_rng(3)
    sizes = (4,) * 6
    costs = {"peak": random_maximum(sizes, rng, 9, 1000)}
    space = plain_space(sizes)
    every = np.array(Problem(space, {}, ()).product())
    values = costs["peak"].of(every)
    limit = int(np.quantile(values, 0.3))
    exact = FeasibleSet(space, costs, [Limit("peak", limit)])
    assert exact.exact
    assert exact.count() == (values <= limit).sum()
    coarse = FeasibleSet(space, costs, [Limit("peak", limit)], max_transitions=400)
    assert not coarse.exact
    assert "peak counted in steps of" in coarse.note
    assert 0 < coarse.count() < exact.count()
    drawn = coarse.condition([np.zeros(4)] * 6).sample(200, np.random.default_rng(0))
    assert (costs["peak"].of(drawn) <= limit).all()


def test_sums_must_be_about_the_same_decisions() -> None:
    with pytest.raises(SpaceError, match=r"decisions with sizes \(2, 3\), got \(2, 2\)"):
        LargestSum((2, 3), (CostTerms((2, 2), 0, (), "bytes"),), "bytes")
    with pytest.raises(SpaceError, match="at least one"):
        LargestSum((2, 3), (), "bytes")


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1))
def test_two_rules_at_once_are_kept_by_what_keeps_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, rng.integers(1, 5)).tolist()
    rules = [
        tuple(rng.integers(-1, states, (states, size)) for size in sizes)
        for states in rng.integers(1, 4, 2).tolist()
    ]
    every = np.array(list(np.ndindex(*sizes)))
    expected = follows(rules[0], every) & follows(rules[1], every)
    assert follows(both(*rules), every).tolist() == expected.tolist()
