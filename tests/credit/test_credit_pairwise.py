"""Regressions on pairs of options, and the best network under them, on planted interactions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit, chain_terms
from meritnas.credit.best_with_pairs import best_with_pairs
from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.pairwise import Pairwise
from meritnas.credit.path_regression import PathRegression, path_regression
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space

SIZES = (4,) * 6
EVERY = np.array(list(itertools.product(range(4), repeat=6)))
KNOWN = [np.ones(size, dtype=bool) for size in SIZES]


def feasible_of(maximum: int | None = None) -> FeasibleSet:
    options = tuple(Option(f"o{k}") for k in range(4))
    space = Space(tuple(Decision(f"d{i}", options) for i in range(6)), HyphenText())
    usual, dear = np.arange(4), np.array([0, 3, 2, 1])  # what is good together is not cheap
    terms = chain_terms(0, (dear, *(usual,) * 3, dear, usual), (None,) * 5, "coins")
    limits = [] if maximum is None else [Limit("coins", maximum)]
    return FeasibleSet(space, {"coins": terms}, limits)


def truth(picks: np.ndarray, *, paired: bool) -> np.ndarray:
    """Option 3 is best everywhere, but 1 on decision 0 with 1 on decision 4 is better still."""
    found = picks.sum(axis=1) * 0.5
    together = (picks[:, 0] == 1) & (picks[:, 4] == 1)
    return np.asarray(found + 4.0 * together * paired)


def judged(*, paired: bool, n: int = 400, noise: float = 0.5, seed: int = 0) -> JudgedPaths:
    rng = np.random.default_rng(seed)
    found = JudgedPaths(6)
    for _ in range(n // 8):
        picks = rng.integers(4, size=(8, 6))
        hard = 5.0 * rng.normal()
        found.add(picks, hard - truth(picks, paired=paired) - noise * rng.normal(size=8))
    return found


@pytest.mark.parametrize("maximum", [None, 15])
def test_pairs_find_the_network_that_single_effects_miss(maximum: int | None) -> None:
    feasible = feasible_of(maximum)
    fits = EVERY[feasible.contains(EVERY)]
    best = tuple(fits[truth(fits, paired=True).argmax()].tolist())
    score = {}
    for pairs in (False, True):
        fitted = path_regression(judged(paired=True), SIZES, pairs=pairs)
        chosen = feasible.space.picks(best_with_pairs(feasible, fitted, KNOWN))
        score[pairs] = float(truth(np.array([chosen]), paired=True)[0])
    assert score[True] == truth(np.array([best]), paired=True)[0]
    assert score[False] < score[True]


def test_the_planted_pair_is_the_largest_and_predictions_are_those_of_its_effects() -> None:
    fitted = path_regression(judged(paired=True), SIZES, pairs=True)
    assert np.unravel_index(fitted.pairs.argmax(), fitted.pairs.shape) == (1, 17)
    assert fitted.pairs == pytest.approx(fitted.pairs.T)
    for i, j in itertools.product(range(6), repeat=2):
        block = fitted.pairs[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        assert block.sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-9)
    picks = EVERY[::97]
    expected = []
    for path in picks:
        total = sum(fitted.mains[i][k] for i, k in enumerate(path))
        for i, j in itertools.combinations(range(6), 2):
            total += fitted.pairs[4 * i + path[i], 4 * j + path[j]]
        expected.append(total)
    assert fitted.predict(picks) == pytest.approx(expected)
    misses = truth(EVERY, paired=True) - fitted.predict(EVERY)
    single = path_regression(judged(paired=True), SIZES)
    assert misses.std() < 0.6 * (truth(EVERY, paired=True) - single.predict(EVERY)).std()


def test_where_nothing_interacts_pairs_change_little() -> None:
    with_pairs = path_regression(judged(paired=False), SIZES, pairs=True)
    single = path_regression(judged(paired=False), SIZES)
    gap = with_pairs.predict(EVERY) - single.predict(EVERY)
    assert gap.std() < 0.1 * single.predict(EVERY).std()
    chosen = best_with_pairs(feasible_of(), with_pairs, KNOWN)
    assert feasible_of().space.picks(chosen) == (3,) * 6


def random_model(seed: int) -> PathRegression:
    rng = np.random.default_rng(seed)
    mains = tuple(rng.normal(size=4) for _ in SIZES)
    pairs = 0.3 * rng.normal(size=(24, 24))
    pairs = pairs + pairs.T
    for i in range(6):
        pairs[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = 0.0
    return PathRegression(mains, mains, pairs, 1.0)


@pytest.mark.parametrize("maximum", [None, 7])
def test_a_local_search_comes_close_to_the_best_and_keeps_limits(maximum: int | None) -> None:
    feasible = feasible_of(maximum)
    fits = EVERY[feasible.contains(EVERY)]
    found = 0
    for seed in range(8):
        model = random_model(seed)
        best = best_with_pairs(feasible, model, KNOWN)
        assert feasible.space.picks(best) == tuple(fits[model.predict(fits).argmax()].tolist())
        exact = best_with_pairs(feasible, model, KNOWN, most_listed=0)
        assert exact == best
        near = best_with_pairs(feasible, model, KNOWN, most_listed=0, most_begun=0)
        assert feasible.admits(near)
        found += near == best
    assert found >= 7


def test_what_never_occurred_comes_last() -> None:
    model = random_model(0)
    known = [row.copy() for row in KNOWN]
    for row, effects in zip(known, model.mains, strict=True):
        row[effects.argmax()] = False
    for most in (200_000, 0):
        picks = feasible_of().space.picks(best_with_pairs(feasible_of(), model, known, most, most))
        assert all(known[i][k] for i, k in enumerate(picks))


def test_the_regression_of_agents_keeps_its_last_estimate() -> None:
    regression = Pairwise(SIZES)
    feasible = feasible_of()
    assert regression.best(feasible) is None
    known = judged(paired=True)
    for picks, losses in zip(
        np.array_split(known.picks, 50), np.array_split(-known.scores, 50), strict=True
    ):
        regression.add(picks, losses)
    blame = regression.solve()
    assert [int(row.argmin()) for row in blame[1:4]] == [3, 3, 3]
    best = regression.best(feasible)
    assert best is not None
    assert feasible.space.picks(best) == (1, 3, 3, 3, 1, 3)
    regression.forget(1.0)
    resumed = Pairwise(SIZES)
    resumed.load_state_dict(regression.state_dict())
    assert resumed.best(feasible) == best
    assert not any(row.any() for row in resumed.seen())
