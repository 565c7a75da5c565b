from __future__ import annotations

import numpy as np
from brute_force import Problem, any_problems, cost_of, problems, ruled_space
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.cost.reduced import cheapest, reduce_cost
from meritnas.cost.terms import CostTerms


@settings(max_examples=80)
@given(any_problems())
def test_costs_are_the_sum_of_their_terms(problem: Problem) -> None:
    everything = problem.all_picks()
    for terms in problem.costs.values():
        expected = [cost_of(terms, picks) for picks in everything]
        assert terms.of(np.array(everything)).tolist() == expected
        steps = terms.steps()
        for picks, cost in zip(everything[:10], expected, strict=False):
            before = (0, *picks)
            assert sum(int(s[a, b]) for s, a, b in zip(steps, before, picks, strict=False)) == cost
        least, found = cheapest(terms, problem.space.levels)
        assert found in everything
        assert least == min(expected) == cost_of(terms, found)


@settings(max_examples=80)
@given(problems(), st.randoms(use_true_random=False))
def test_restricted_costs_are_those_of_the_kept_options(problem: Problem, random: object) -> None:
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    kept = [
        np.sort(rng.choice(size, rng.integers(1, size + 1), replace=False))
        for size in problem.space.sizes
    ]
    for terms in problem.costs.values():
        smaller = terms.restrict(kept)
        small = np.array([[rng.integers(len(k)) for k in kept] for _ in range(10)])
        large = np.array([[k[j] for k, j in zip(kept, row, strict=True)] for row in small])
        assert smaller.of(small).tolist() == terms.of(large).tolist()


@settings(max_examples=80)
@given(problems())
def test_reduced_costs_are_not_negative_and_fit_exactly_when_the_cost_does(
    problem: Problem,
) -> None:
    for limit in problem.limits:
        terms = problem.costs[limit.name]
        least, _ = cheapest(terms)
        most = max(limit.maximum, least)
        reduced = reduce_cost(terms, most)
        assert reduced.missed == 0
        assert all((step >= 0).all() for step in reduced.steps)
        for picks in problem.all_picks()[:50]:
            steps = zip(reduced.steps, (0, *picks), picks, strict=False)
            spent = sum(int(step[a, b]) for step, a, b in steps)
            assert least + spent * reduced.grid == cost_of(terms, picks)
            assert (spent <= reduced.slack) == (cost_of(terms, picks) <= most)


def test_the_cheapest_keeps_the_rule_even_where_breaking_it_would_save_a_lot() -> None:
    zeros = np.zeros(2, dtype=np.int64)
    terms = CostTerms(0, (zeros, zeros), (np.array([[-10, 10], [10, -10]]),), "things")
    space = ruled_space([[False, True]] * 2, (2,), 1)
    assert cheapest(terms)[0] == -10
    assert cheapest(terms, space.levels) == (10, (0, 1))
