from __future__ import annotations

import itertools

import numpy as np
import pytest

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit, chain_terms
from meritnas.policy.laws import Conditional, Unrestricted, feasible_law, valid_law
from meritnas.policy.neighbours import fitting_options, is_free, restricted
from meritnas.policy.policy import Policy
from meritnas.policy.tags import mixable, silent, tagged
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import PresentEdges
from meritnas.space.space import HyphenText, Space

NONE = Option("none", frozenset({"absent"}))
ZERO = Option("zero", frozenset({"zero"}))
BOTH = Option("none", frozenset({"absent", "zero"}))
A, B = Option("a"), Option("b")
EDGES = tuple(Decision(f"e{i}", (NONE, A, B)) for i in range(3))
RULED = Space(EDGES, HyphenText(), PresentEdges((3,), 2))
FREE = Space(EDGES, HyphenText())
TERMS = chain_terms(0, (np.array([0, 1, 2]),) * 3, (None, None), "things")


def within(space: Space, limit: int | None) -> FeasibleSet:
    limits = () if limit is None else (Limit("things", limit),)
    return FeasibleSet(space, {"things": TERMS}, limits)


@pytest.mark.parametrize("space", [FREE, RULED])
@pytest.mark.parametrize("limit", [None, 3])
def test_fitting_options_are_those_that_keep_the_rest(space: Space, limit: int | None) -> None:
    feasible = within(space, limit)
    assert is_free(feasible) == (space is FREE and limit is None)
    every = np.array(list(itertools.product(range(3), repeat=3)))
    for picks in every[feasible.contains(every)]:
        found = fitting_options(picks, feasible)
        for i, row in enumerate(found):
            for j in range(3):
                changed = picks.copy()
                changed[i] = j
                assert row[j] == feasible.contains(changed[None, :])[0]
            assert row[picks[i]]


def test_restricted_rows_are_conditional_probabilities() -> None:
    rows = [np.array([0.2, 0.5, 0.3]), np.array([0.0, 1.0])]
    kept = [np.array([True, False, True]), np.array([True, False])]
    found = restricted(rows, kept)
    np.testing.assert_allclose(found[0], [0.4, 0.0, 0.6])
    np.testing.assert_allclose(found[1], [0.0, 0.0])


def test_laws_are_conditional_only_where_they_have_to_be() -> None:
    assert feasible_law(within(FREE, None)) == Unrestricted()
    assert valid_law(within(FREE, 3)) == Unrestricted()
    assert isinstance(feasible_law(within(FREE, 3)), Conditional)
    assert isinstance(feasible_law(within(RULED, None)), Conditional)


@pytest.mark.parametrize("limit", [None, 2])
def test_draws_that_may_cost_anything_are_valid(limit: int | None) -> None:
    law = valid_law(within(RULED, limit))
    policy = Policy((3, 3, 3), 0.1)
    drawn = law.draw(policy, 500, np.random.default_rng(0))
    assert RULED.valid(drawn.picks).all()
    assert len(np.unique(drawn.picks, axis=0)) == 12  # 3 pairs of edges, 2 * 2 options
    np.testing.assert_allclose(drawn.center[0], [1 / 3, 1 / 3, 1 / 3])


def test_tags_say_what_is_mixed_and_what_is_silent() -> None:
    options = ((NONE, A), (ZERO, A), (BOTH, A), (A, B), (NONE,))
    space = Space(tuple(Decision(str(i), o) for i, o in enumerate(options)), HyphenText())
    assert [row.tolist() for row in tagged(space, "zero")][:3] == [
        [False, False],
        [True, False],
        [True, False],
    ]
    assert [row.tolist() for row in mixable(space)] == [
        [False, True],
        [True, True],
        [True, True],
        [True, True],
        [True],
    ]
    assert [row.tolist() for row in silent(space)] == [
        [True, False],
        [True, False],
        [True, False],
        [False, False],
        [True],
    ]
