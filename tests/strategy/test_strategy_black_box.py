from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from meritnas import tabular_space
from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit, chain_terms
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space
from meritnas.strategy.algorithms.bayesian import BayesianProposer, expected_improvement, features
from meritnas.strategy.algorithms.black_box import Archive, Proposer, RandomProposer, uniform_draw
from meritnas.strategy.algorithms.evolution import EvolutionProposer, mutate

SPACE = tabular_space(2, 1, 3, (2, 3, 4, 6))
FEASIBLE = SPACE.feasible(max_params=50)


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(17, 200))
def test_a_mutation_is_feasible_and_different(seed: int, limit: int) -> None:
    assume(limit >= SPACE.cost("2-2-2"))
    feasible = SPACE.feasible(max_params=limit)
    rng = np.random.default_rng(seed)
    parent = uniform_draw(feasible, 1, rng)[0]
    child = mutate(parent, feasible, rng)
    assert feasible.contains(np.array([child]))[0]
    if feasible.count() > 1:
        assert child != tuple(parent.tolist())
    else:
        assert child == tuple(parent.tolist())


def test_a_mutation_finds_the_other_architecture_even_if_all_decisions_must_change() -> None:
    options = (Option("a"), Option("b"))
    space = Space((Decision("x", options), Decision("y", options)), HyphenText())
    differ = chain_terms(
        0, (np.zeros(2, int), np.zeros(2, int)), (1 - np.eye(2, dtype=int),), "things"
    )
    feasible = FeasibleSet(space, {"differ": differ}, [Limit("differ", 0)])
    for seed in range(20):
        assert mutate(np.array([0, 0]), feasible, np.random.default_rng(seed)) == (1, 1)


def test_a_mutation_changes_one_decision_where_that_fits() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        parent = uniform_draw(FEASIBLE, 1, rng)[0]
        assert (np.array(mutate(parent, FEASIBLE, rng)) != parent).sum() == 1


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.05, 3))
def test_expected_improvement_is_the_integral(best: float, mean: float, spread: float) -> None:
    law = stats.norm(mean, spread)
    low = min(mean - 12 * spread, best)
    expected, _ = integrate.quad(lambda x: (best - x) * law.pdf(x), low, best, limit=200)
    found = expected_improvement(best, np.array([mean]), np.array([spread]))
    assert found[0] == pytest.approx(expected, abs=1e-6)


def test_expected_improvement_without_spread_is_the_improvement() -> None:
    found = expected_improvement(1.0, np.array([0.4, 1.7]), np.zeros(2))
    np.testing.assert_allclose(found, [0.6, 0.0], atol=1e-9)


def test_uniform_draws_are_uniform_on_the_feasible_set() -> None:
    picks = uniform_draw(FEASIBLE, 20_000, np.random.default_rng(0))
    _, counts = np.unique(picks, axis=0, return_counts=True)
    assert len(counts) == FEASIBLE.count()
    assert stats.chisquare(counts).pvalue > 0.001


def judged(n: int, feasible: FeasibleSet, seed: int = 0) -> Archive:
    rng = np.random.default_rng(seed)
    archive = Archive()
    for picks in uniform_draw(feasible, n, rng):
        archive.picks.append(tuple(picks.tolist()))
        # The wider the first layer the better.
        archive.losses.append(float(1.0 - 0.2 * picks[0] + 0.01 * rng.normal()))
    return archive


PROPOSERS: tuple[Proposer, ...] = (
    RandomProposer(),
    EvolutionProposer(population=30, tournament=10),
    BayesianProposer(initial=5, candidates=64, memory=12),
)


@pytest.mark.parametrize("proposer", PROPOSERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("known", [0, 3, 30, 60])
def test_proposals_are_feasible(proposer: Proposer, known: int) -> None:
    archive = judged(known, FEASIBLE)
    rng = np.random.default_rng(1)
    for _ in range(5):
        picks = proposer.propose(archive, FEASIBLE, rng)
        assert FEASIBLE.contains(np.array([picks]))[0]
        assert all(isinstance(pick, int) for pick in picks)


@pytest.mark.parametrize("proposer", PROPOSERS[1:], ids=lambda p: type(p).__name__)
def test_proposals_prefer_what_was_good(proposer: Proposer) -> None:
    archive = judged(60, FEASIBLE)
    rng = np.random.default_rng(2)
    chosen = [proposer.propose(archive, FEASIBLE, rng)[0] for _ in range(40)]
    uniform = uniform_draw(FEASIBLE, 2000, rng)[:, 0]
    assert np.mean(chosen) > uniform.mean() + 0.2


def test_features_are_ranks_of_numbers_and_onehot_of_names() -> None:
    decisions = (
        Decision("width", (Option("8"), Option("64"), Option("512"))),
        Decision("kind", (Option("conv"), Option("pool"))),
    )
    space = Space(decisions, HyphenText())
    found = features(space, np.array([[0, 1], [1, 0], [2, 0]]))
    np.testing.assert_allclose(found, [[0, 0, 1], [0.5, 1, 0], [1, 1, 0]])


def test_the_best_come_first_and_earlier_ones_first_among_equals() -> None:
    archive = Archive([(0,), (1,), (2,), (3,)], [0.5, 0.2, 0.5, 0.1])
    assert archive.best_first() == [3, 1, 0, 2]
