from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from brute_force import Problem, any_problems, cost_of, problems, ruled_space
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.cost.reading import Reading, best_reading
from meritnas.cost.reduced import cheapest, reduce_cost
from meritnas.cost.terms import CostTerms, Factor, chain_terms
from meritnas.errors import SpaceError


def readings(problem: Problem, terms: CostTerms) -> list[Reading]:
    """As decisions are numbered or as their rule asks, the other way round, and the best."""
    sizes, order = problem.space.sizes, problem.space.order
    own = [Reading.of([terms], sizes, order), Reading.of([terms], sizes, order[::-1])]
    return [*own, best_reading([terms], sizes)]


def along(reading: Reading, steps: Sequence[np.ndarray], picks: Sequence[int]) -> int:
    """The sum of the steps on the way of an architecture."""
    context, total = 0, 0
    for number, step, after in zip(reading.order, steps, reading.nexts, strict=True):
        total += int(step[context, picks[number]])
        context = int(after[context, picks[number]])
    return total


@settings(max_examples=80)
@given(any_problems(maxima=False))
def test_costs_are_the_sum_of_their_terms(problem: Problem) -> None:
    everything = problem.all_picks()
    for terms in problem.costs.values():
        expected = [cost_of(terms, picks) for picks in everything]
        assert terms.of(np.array(everything)).tolist() == expected
        for reading in readings(problem, terms):
            steps = reading.steps(terms)
            for picks, cost in zip(everything[:10], expected, strict=False):
                assert along(reading, steps, picks) == cost
        least, found = cheapest(terms, problem.space)
        assert found in everything
        assert least == min(expected) == cost_of(terms, found)


@settings(max_examples=80)
@given(problems(maxima=False), st.randoms(use_true_random=False))
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
@given(problems(maxima=False))
def test_reduced_costs_are_not_negative_and_fit_exactly_when_the_cost_does(
    problem: Problem,
) -> None:
    for limit in problem.limits:
        terms = problem.costs[limit.name]
        least, _ = cheapest(terms)
        most = max(limit.maximum, least)
        for reading in readings(problem, terms):
            reduced = reduce_cost(terms, most, reading)
            assert reduced.missed == 0
            assert all((step >= 0).all() for step in reduced.steps)
            for picks in problem.all_picks()[:50]:
                spent = along(reading, reduced.steps, picks)
                assert least + spent * reduced.grid == cost_of(terms, picks)
                assert (spent <= reduced.slack) == (cost_of(terms, picks) <= most)


def test_the_cheapest_keeps_the_rule_even_where_breaking_it_would_save_a_lot() -> None:
    zeros = np.zeros(2, dtype=np.int64)
    terms = chain_terms(0, (zeros, zeros), (np.array([[-10, 10], [10, -10]]),), "things")
    space = ruled_space([[False, True]] * 2, (2,), 1)
    assert cheapest(terms)[0] == -10
    assert cheapest(terms, space) == (10, (0, 1))


def test_an_order_is_found_in_which_little_is_remembered() -> None:
    # A star: the last decision goes with each of the others, which do not go with each other.
    sizes = (5,) * 6
    rng = np.random.default_rng(0)
    star = tuple(Factor((i, 5), rng.integers(0, 9, (5, 5))) for i in range(5))
    terms = CostTerms(sizes, 0, star, "things")
    reading = best_reading([terms], sizes)
    assert max(len(after) for after in reading.nexts) == 5
    as_numbered = Reading.of([terms], sizes, range(6))
    assert max(len(after) for after in as_numbered.nexts) == 5**5
    picks = rng.integers(0, 5, (20, 6))
    for each in (reading, as_numbered):
        steps = each.steps(terms)
        assert [along(each, steps, row) for row in picks.tolist()] == terms.of(picks).tolist()
    assert best_reading([chain_terms(0, [np.arange(2)] * 3, [None] * 2, "")], (2,) * 3).order == (
        *(0, 1, 2),
    )


def test_terms_as_earlier_versions_had_them_are_refused_with_the_way_out() -> None:
    with pytest.raises(SpaceError, match=r"use chain_terms\(constant, single, pair, unit\)"):
        CostTerms(0, (np.ones(2),) * 2, (None,), "things")  # type: ignore[arg-type]


def test_what_cannot_be_remembered_is_refused_with_the_way_out() -> None:
    sizes = (10,) * 9
    table = np.zeros((10,) * 8, dtype=np.int8)
    terms = CostTerms(sizes, 0, (Factor(tuple(range(8)), table),), "things")
    with pytest.raises(SpaceError, match=r"7 decisions matter together .* 10,000,000 combinations"):
        _ = best_reading([terms], sizes).nexts


@pytest.mark.parametrize(
    ("numbers", "shape", "words"),
    [
        ((), (), "a factor is about some of 2 decisions"),
        ((1, 0), (3, 2), "from small to large"),
        ((0, 2), (2, 3), "a factor is about some of 2 decisions"),
        ((0, 1), (3, 2), r"needs a table of shape \(2, 3\), got \(3, 2\)"),
    ],
)
def test_a_factor_must_fit_its_decisions(
    numbers: tuple[int, ...], shape: tuple[int, ...], words: str
) -> None:
    with pytest.raises(SpaceError, match=words):
        CostTerms((2, 3), 0, (Factor(numbers, np.zeros(shape, dtype=np.int64)),), "things")
