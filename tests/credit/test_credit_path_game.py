"""Shapley values of the path game: by definition, against what judged paths say."""

from __future__ import annotations

import itertools
from functools import partial
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.paths import all_paths
from meritnas.cost.terms import Limit, chain_terms
from meritnas.credit.exact_shapley import exact_shapley
from meritnas.credit.game import Counted
from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.path_game import PathGame, affordable_orders, free_share, path_shapley
from meritnas.credit.path_regression import path_regression
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space


def space_of(sizes: tuple[int, ...]) -> Space:
    decisions = tuple(
        Decision(f"d{i}", tuple(Option(f"{k}") for k in range(size)))
        for i, size in enumerate(sizes)
    )
    return Space(decisions, HyphenText())


def limited(sizes: tuple[int, ...], maximum: int | None) -> FeasibleSet:
    """Option k costs k; at most so much in all."""
    space = space_of(sizes)
    if maximum is None:
        return FeasibleSet(space, {})
    each = tuple(np.arange(size) for size in sizes)
    terms = chain_terms(0, each, (None,) * (len(sizes) - 1), "coins")
    return FeasibleSet(space, {"coins": terms}, [Limit("coins", maximum)])


def value_by_definition(
    members: set[tuple[int, int]], paths: np.ndarray, scores: np.ndarray
) -> float:
    """The mean over feasible paths with the fewest picks outside S, pick by pick."""
    outside = [sum((i, int(p)) not in members for i, p in enumerate(path)) for path in paths]
    kept = [score for score, left in zip(scores, outside, strict=True) if left == min(outside)]
    return float(np.mean(kept))


def shapley_by_definition(feasible: FeasibleSet, scores: np.ndarray) -> np.ndarray:
    """The mean over all orders of what each player adds to those before it."""
    players = [(i, k) for i, size in enumerate(feasible.space.sizes) for k in range(size)]
    paths = all_paths(feasible.diagram)
    known: dict[frozenset[tuple[int, int]], float] = {}
    found = dict.fromkeys(players, 0.0)
    for order in itertools.permutations(players):
        before: frozenset[tuple[int, int]] = frozenset()
        for player in order:
            after = before | {player}
            for some in (before, after):
                if some not in known:
                    known[some] = value_by_definition(set(some), paths, scores)
            found[player] += known[after] - known[before]
            before = after
    return np.array([found[player] for player in players]) / factorial(len(players))


def judged_of(picks: np.ndarray, scores: np.ndarray, blocks: int = 1) -> JudgedPaths:
    judged = JudgedPaths(picks.shape[1])
    for some, own in zip(
        np.array_split(picks, blocks), np.array_split(scores, blocks), strict=True
    ):
        judged.add(some, -own)
    return judged


def _known(scores: np.ndarray, paths: np.ndarray) -> np.ndarray:
    del paths
    return scores


def all_orders(players: int) -> np.ndarray:
    return np.array(list(itertools.permutations(range(players))))


@pytest.mark.parametrize(("sizes", "maximum"), [((2, 2, 2), None), ((2, 2, 2), 1), ((3, 3), 2)])
def test_the_game_is_the_definition(sizes: tuple[int, ...], maximum: int | None) -> None:
    feasible = limited(sizes, maximum)
    scores = np.random.default_rng(0).normal(size=feasible.count())
    game = Counted(PathGame(feasible, lambda _: scores))
    found = exact_shapley(game)
    assert found == pytest.approx(shapley_by_definition(feasible, scores))
    assert found.sum() == pytest.approx(0.0, abs=1e-12)


def test_paths_are_all_feasible_ones_and_each_once() -> None:
    feasible = limited((3, 2, 4), 4)
    paths = all_paths(feasible.diagram)
    every = np.array(list(itertools.product(range(3), range(2), range(4))))
    fits = every[feasible.contains(every)]
    assert sorted(map(tuple, paths.tolist())) == sorted(map(tuple, fits.tolist()))


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_without_a_limit_values_are_main_effects_whatever_the_interactions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (2, 4, 3)
    feasible = limited(sizes, None)
    table = rng.normal(size=sizes) + 3.0 * rng.normal(size=(1, 4, 1))
    exact = exact_shapley(Counted(PathGame(feasible, lambda picks: table[tuple(picks.T)])))
    mains = []
    for i, size in enumerate(sizes):
        others = tuple(j for j in range(3) if j != i)
        mains.append(free_share(size) * (table.mean(axis=others) - table.mean()))
    assert exact == pytest.approx(np.concatenate(mains))


@given(st.integers(0, 10_000), st.sampled_from([None, 1, 2, 3]))
@settings(max_examples=15, deadline=None)
def test_with_all_paths_judged_values_are_exact(seed: int, maximum: int | None) -> None:
    rng = np.random.default_rng(seed)
    feasible = limited((3, 2, 2), maximum)
    paths = all_paths(feasible.diagram)
    scores = rng.normal(size=len(paths))
    judged = judged_of(paths, scores)
    fitted = path_regression(judged, feasible.space.sizes)
    found = np.concatenate(path_shapley(feasible, judged, fitted, all_orders(7)))
    exact = exact_shapley(Counted(PathGame(feasible, lambda _: scores)))
    assert found == pytest.approx(exact, abs=1e-9)


def test_random_orders_come_close_and_unreachable_options_are_null() -> None:
    rng = np.random.default_rng(0)
    feasible = limited((3, 3, 3), 2)
    feasible_tight = limited((3, 3, 3), 1)
    for some in (feasible, feasible_tight):
        paths = all_paths(some.diagram)
        scores = rng.normal(size=len(paths))
        judged = judged_of(paths, scores)
        fitted = path_regression(judged, some.space.sizes)
        orders = affordable_orders(some, rng)
        assert len(orders) == 200
        found = np.concatenate(path_shapley(some, judged, fitted, orders))
        exact = exact_shapley(Counted(PathGame(some, partial(_known, scores))))
        assert np.abs(found - exact).max() < 0.35 * np.abs(exact).max()
    assert found[[2, 5, 8]] == pytest.approx(0.0, abs=1e-12)


def test_few_of_many_paths_find_main_effects_across_easy_and_hard_blocks() -> None:
    rng = np.random.default_rng(1)
    sizes = (4,) * 8
    feasible = limited(sizes, None)
    effects = rng.normal(size=(8, 4))
    effects -= effects.mean(axis=1, keepdims=True)
    picks = rng.integers(4, size=(300, 8))
    scores = effects[np.arange(8), picks].sum(axis=1) + 0.3 * rng.normal(size=300)
    scores += np.repeat(10.0 * rng.normal(size=10), 30)
    judged = judged_of(picks, scores, blocks=10)
    fitted = path_regression(judged, sizes)
    values = path_shapley(feasible, judged, fitted, affordable_orders(feasible, rng))
    assert np.array(values) == pytest.approx(free_share(4) * effects, abs=0.1)
    assert fitted.noise == pytest.approx(0.3, rel=0.15)
    gaps = np.abs(np.array(fitted.mains) - effects) / np.array(fitted.errors)
    assert 0.5 < float(np.sqrt(np.mean(gaps**2))) < 1.6


def test_a_limit_changes_what_an_option_is_worth() -> None:
    """Under a budget an option that leaves nothing for the others is worth less."""
    every = np.array(list(itertools.product(range(3), repeat=3)))
    gains = np.array([0.0, 1.0, 1.5])
    found = {}
    for maximum in (None, 3):
        feasible = limited((3, 3, 3), maximum)
        picks = every[feasible.contains(every)]
        judged = judged_of(picks, gains[picks].sum(axis=1))
        fitted = path_regression(judged, feasible.space.sizes)
        orders = affordable_orders(feasible, np.random.default_rng(0))
        found[maximum] = path_shapley(feasible, judged, fitted, orders)[0]
    assert found[None].argmax() == 2
    assert found[3].argmax() == 1


def test_nothing_judged_or_one_path_a_block_says_nothing() -> None:
    feasible = limited((2, 3), None)
    judged = JudgedPaths(2)
    for _ in range(2):
        fitted = path_regression(judged, feasible.space.sizes)
        values = path_shapley(feasible, judged, fitted, np.zeros((0, 5), dtype=np.int64))
        assert not np.concatenate(values).any()
        judged.add(np.array([[0, 1]]), np.array([2.0]))
        judged.add(np.array([[1, 1]]), np.array([1.0]))
