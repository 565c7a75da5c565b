from __future__ import annotations

from collections.abc import Callable
from itertools import permutations as orders

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas import shapley_values
from meritnas.credit.certain_ranks import settled
from meritnas.credit.game import Counted, Function
from meritnas.credit.permutation_shapley import PermutationSampler
from meritnas.errors import UsageError

WEIGHTS = np.array([0.3, 0.2, 0.2, 0.1, 0.1])
Table = Callable[[np.ndarray], np.ndarray]


def additive(coalitions: np.ndarray) -> np.ndarray:
    return coalitions @ WEIGHTS + 0.1


def table(seed: int, players: int) -> Table:
    """A random game: any score for any coalition."""
    scores = np.random.default_rng(seed).normal(size=2**players)
    return lambda coalitions: scores[coalitions @ (2 ** np.arange(players))]


def exact(value: Table, players: int) -> np.ndarray:
    return shapley_values(value, players, "exact").values


games = st.tuples(st.integers(0, 2**31), st.integers(2, 6))


@given(games)
@settings(max_examples=25, deadline=None)
def test_exact_values_are_the_mean_over_all_removal_orders(game: tuple[int, int]) -> None:
    seed, n = game
    value = table(seed, n)
    total = np.zeros(n)
    every = list(orders(range(n)))
    for order in every:
        present = np.ones((1, n), dtype=bool)
        before = value(present)[0]
        for player in order:
            present[0, player] = False
            after = value(present)[0]
            total[player] += before - after
            before = after
    assert exact(value, n) == pytest.approx(total / len(every), abs=1e-12)


@given(games)
@settings(max_examples=25, deadline=None)
def test_exact_values_share_out_what_everybody_adds_to_nobody(game: tuple[int, int]) -> None:
    value = table(*game)
    whole, nobody = value(np.array([[True] * game[1], [False] * game[1]]))
    assert exact(value, game[1]).sum() == pytest.approx(whole - nobody)


@given(games, st.floats(-3, 3), st.floats(-3, 3))
@settings(max_examples=25, deadline=None)
def test_exact_values_are_linear_in_the_game(game: tuple[int, int], a: float, b: float) -> None:
    seed, n = game
    first, second = table(seed, n), table(seed + 1, n)
    mixed = exact(lambda c: a * first(c) + b * second(c), n)
    assert mixed == pytest.approx(a * exact(first, n) + b * exact(second, n), abs=1e-10)


@given(games)
@settings(max_examples=25, deadline=None)
def test_equals_get_equal_values_and_who_adds_nothing_gets_nothing(game: tuple[int, int]) -> None:
    """Players 0 and 1 count the same; a new last player does not count."""
    seed, n = game
    plain = table(seed, n)

    def value(coalitions: np.ndarray) -> np.ndarray:
        own = coalitions[:, :n].copy()
        own[:, :2] = np.sort(own[:, :2], axis=1)
        return plain(own)

    values = exact(value, n + 1)
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert values[n] == pytest.approx(0.0, abs=1e-12)


def test_an_additive_game_is_known_from_one_permutation() -> None:
    found = shapley_values(additive, 5, permutations=1)
    assert found.values == pytest.approx(WEIGHTS)
    assert found.depth == 5
    assert found.evaluations == 6  # everybody once, then one for each removal
    assert np.isinf(found.stderr).all()
    assert np.isinf(found.interval()[1]).all()


def test_truncation_biases_values_down_and_keeps_their_order() -> None:
    """The note's figures: about (.24, .14, .14, .064, .065) and 3.49 evaluations."""
    found = shapley_values(additive, 5, permutations=40_000, truncation=0.5, seed=1)
    assert found.values == pytest.approx([0.24, 0.14, 0.14, 0.064, 0.065], abs=0.006)
    assert found.depth == pytest.approx(3.49, abs=0.03)
    assert found.evaluations == 1 + round(found.depth * found.permutations)


def test_truncation_at_zero_changes_nothing_while_scores_are_above_zero() -> None:
    found = shapley_values(additive, 5, permutations=4, truncation=0.0)
    assert found.values == pytest.approx(WEIGHTS)


@pytest.mark.parametrize("antithetic", [True, False])
def test_without_truncation_the_mean_is_right_within_its_own_errors(antithetic: bool) -> None:
    value = table(3, 6)
    found = shapley_values(value, 6, permutations=4000, antithetic=antithetic)
    gaps = np.abs(found.values - exact(value, 6))
    assert (gaps < 4 * found.stderr).all()
    assert gaps.max() < 0.1
    assert found.values.sum() == pytest.approx(exact(value, 6).sum())


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    value = table(5, 5)
    truth = exact(value, 5)
    held = []
    for seed in range(200):
        low, high = shapley_values(value, 5, permutations=24, seed=seed).interval(0.9)
        held.append((low <= truth) & (truth <= high))
    assert 0.84 < np.mean(held) < 0.95


def test_pairs_have_a_smaller_error_where_the_order_matters() -> None:
    """V(S) = |S|^2: all depends on when a player leaves, and pairs cancel that exactly."""

    def squared(coalitions: np.ndarray) -> np.ndarray:
        return coalitions.sum(axis=1) ** 2.0

    plain = shapley_values(squared, 6, permutations=10, antithetic=False)
    paired = shapley_values(squared, 6, permutations=10)
    assert plain.stderr.max() > 0.5
    assert paired.stderr.max() < 1e-12
    assert paired.values == pytest.approx(np.full(6, 6.0))


def test_a_budget_is_never_exceeded_and_well_used() -> None:
    calls = []

    def value(coalitions: np.ndarray) -> np.ndarray:
        calls.append(len(coalitions))
        return additive(coalitions)

    found = shapley_values(value, 5, "permutation", budget=57)
    assert sum(calls) == found.evaluations == 51
    assert found.permutations == 10
    with pytest.raises(UsageError, match="can take 11 evaluations and the budget is 10"):
        shapley_values(additive, 5, "permutation", budget=10)
    with pytest.raises(UsageError, match="32 evaluations and the budget is 31"):
        shapley_values(additive, 5, "exact", budget=31)


def test_sampling_ends_when_the_ranking_is_settled() -> None:
    rng = np.random.default_rng(0)

    def noisy(coalitions: np.ndarray) -> np.ndarray:
        return coalitions @ np.array([3.0, 1.0, 2.0]) + rng.normal(0, 0.3, len(coalitions))

    found = shapley_values(noisy, 3, permutations=1000, confidence=0.95)
    assert found.settled
    assert found.permutations < 60
    rivals = shapley_values(
        lambda c: c @ np.array([3.0, 3.0, 2.0]) + rng.normal(0, 0.3, len(c)),
        3,
        permutations=60,
        confidence=0.95,
    )
    assert not rivals.settled


def test_only_rivals_need_to_be_told_apart() -> None:
    samples = np.random.default_rng(0).normal([0.0, 0.0, 5.0, 9.0], 1.0, (30, 4))
    assert not settled(samples, [[0, 1], [2, 3]], 0.95)
    assert settled(samples, [[0, 2], [1, 3]], 0.95)
    assert settled(np.zeros((6, 2)), [[0, 1]], 0.95)
    assert not settled(samples[:4], [[0, 2]], 0.95)


def test_an_estimate_goes_on_in_the_middle_as_if_nothing_had_happened() -> None:
    game = Counted(Function(table(7, 6), 6))

    def sampler() -> PermutationSampler:
        return PermutationSampler(6, np.random.default_rng(2), 0.2)

    straight, first, second = sampler(), sampler(), sampler()
    for _ in range(4):
        straight.advance(game)
    first.advance(game)
    second.load_state_dict(first.state_dict())
    for _ in range(3):
        second.advance(game)
    assert second.values().tolist() == straight.values().tolist()
    assert second.stderr().tolist() == straight.stderr().tolist()
    assert second.depth == straight.depth


class Moody:
    """A game whose scores shift with every renewal; its last player adds nothing."""

    players = 4
    null = np.array([False, False, False, True])
    fixed = False

    def __init__(self) -> None:
        self.mood = 0.0
        self.seen: list[np.ndarray] = []

    def renew(self) -> None:
        self.mood += 10.0

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        self.seen.extend(coalitions)
        return coalitions[:, :3].sum(axis=1) + self.mood


def test_a_permutation_and_its_reverse_are_judged_alike_and_nobody_removes_a_null_player() -> None:
    game = Moody()
    found = shapley_values(game, ["a", "b", "c", "none"], permutations=6)
    assert found.players == ("a", "b", "c", "none")
    assert found.values == pytest.approx([1.0, 1.0, 1.0, 0.0])
    assert found.stderr == pytest.approx(np.zeros(4), abs=1e-12)
    assert game.mood == 30.0
    assert all(row[3] for row in game.seen)
    assert found.evaluations == 3 * (1 + 2 * 3)


def test_a_regression_on_all_of_an_additive_game_is_exact() -> None:
    found = shapley_values(additive, 5, "regression", budget=22)
    assert found.evaluations == 22
    assert found.samples == 10
    assert found.values == pytest.approx(WEIGHTS)
    assert found.stderr == pytest.approx(np.zeros(5), abs=1e-9)


@pytest.mark.parametrize("players", [1, 2])
def test_a_regression_on_few_players_is_exact_too(players: int) -> None:
    value = table(11, players)
    found = shapley_values(value, players, "regression", budget=40)
    assert found.values == pytest.approx(exact(value, players))


@pytest.mark.parametrize("players", [5, 6])
def test_a_regression_that_may_see_all_coalitions_takes_each_once_and_is_exact(
    players: int,
) -> None:
    value = table(12, players)
    found = shapley_values(value, players, "regression", budget=500)
    assert found.evaluations == 2**players
    assert found.values == pytest.approx(exact(value, players))
    assert found.stderr == pytest.approx(np.zeros(players), abs=1e-9)


def test_a_regression_lists_what_it_would_draw_more_often_than_there_is() -> None:
    """All single players and all but one, within the budget, whatever the seed."""
    seen: list[np.ndarray] = []

    def value(coalitions: np.ndarray) -> np.ndarray:
        seen.append(coalitions)
        return smooth(coalitions)

    assert shapley_values(value, 12, "regression", budget=130, seed=3).evaluations == 130
    sizes, counts = np.unique(np.concatenate(seen).sum(axis=1), return_counts=True)
    found = dict(zip(sizes.tolist(), counts.tolist(), strict=True))
    assert found[1] == found[11] == 12
    assert len(np.unique(np.concatenate(seen), axis=0)) > 100


def test_a_regression_comes_near_the_truth_and_knows_how_near() -> None:
    value = table(13, 10)
    truth = exact(value, 10)
    held, gaps = [], []
    for seed in range(60):
        found = shapley_values(value, 10, "regression", budget=300, seed=seed)
        low, high = found.interval(0.9)
        held.append((low <= truth) & (truth <= high))
        gaps.append(found.values - truth)
        assert found.values.sum() == pytest.approx(truth.sum())
    assert 0.8 < np.mean(held) < 0.97
    bound = 4 * np.std(gaps, axis=0) / np.sqrt(len(gaps)) + 0.005
    assert (np.abs(np.mean(gaps, axis=0)) < bound).all()
    assert shapley_values(value, 10, "regression", budget=10).stderr.max() == np.inf


def smooth(coalitions: np.ndarray) -> np.ndarray:
    """Like a network that loses its parts: additive at first, then it falls apart."""
    worth = np.linspace(0.2, 1.0, coalitions.shape[1])
    return np.tanh(3.0 * (coalitions @ worth) / worth.sum())


def error(method: str, antithetic: bool = True) -> float:
    truth = exact(smooth, 12)
    found = [
        shapley_values(smooth, 12, method, budget=130, seed=seed, antithetic=antithetic).values
        for seed in range(20)
    ]
    return float(np.mean([((values - truth) ** 2).sum() for values in found]))


def test_a_regression_errs_less_than_pairs_and_pairs_less_than_single_permutations() -> None:
    single, paired = error("permutation", antithetic=False), error("permutation")
    assert error("regression") < 0.3 * paired < 0.3 * single


def test_auto_takes_what_fits() -> None:
    assert shapley_values(additive, 5).samples == 0
    assert shapley_values(smooth, 12).evaluations == 120
    assert shapley_values(smooth, 12).permutations == 0
    assert shapley_values(smooth, 12, budget=5000).evaluations == 2**12
    assert shapley_values(smooth, 12, permutations=2).permutations == 2
    assert shapley_values(smooth, 12, "regression", permutations=6).evaluations == 72
    assert shapley_values(additive, 5, "exact", permutations=6).evaluations == 32
    assert shapley_values(smooth, 12, truncation=0.3).permutations == 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"players": 0}, "at least one player"),
        ({"players": 25, "method": "exact"}, "25 players are too many"),
        ({"method": "guess"}, "unknown method 'guess'; there are auto, exact, permutation"),
        ({"permutations": 0}, "permutations must be at least 1, got 0"),
        ({"truncation": 1.5}, "truncation must lie between 0 and 1"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": 3, "method": "regression"}, "can take 4 evaluations and the budget is 3"),
        ({"method": "exact", "truncation": 0.5}, "truncation goes with method 'permutation'"),
        ({"method": "exact", "antithetic": False}, "antithetic goes with method 'permutation'"),
        ({"groups": [[0, 1]]}, "give confidence too"),
    ],
)
def test_wrong_arguments_say_what_is_right(wrong: dict[str, object], message: str) -> None:
    arguments = {"players": 5, **wrong}
    with pytest.raises(UsageError, match=message):
        shapley_values(additive, **arguments)  # type: ignore[arg-type]


def test_scores_of_the_wrong_shape_or_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="one score for each coalition"):
        shapley_values(lambda c: np.zeros((len(c), 2)), 3)
    with pytest.raises(ValueError, match="not finite"):
        shapley_values(lambda c: np.full(len(c), np.nan), 3)


@given(games, st.sampled_from([None, 0.5]))
@settings(max_examples=25, deadline=None)
def test_a_pair_gone_through_together_is_worth_the_same(
    game: tuple[int, int], truncation: float | None
) -> None:
    asked: list[int] = []

    class Watched(Function):
        def value(self, coalitions: np.ndarray) -> np.ndarray:
            asked.append(len(coalitions))
            return super().value(coalitions)

    class Shared(Watched):
        shared = True

    def found(kind: type[Function]) -> tuple[list[float], int]:
        asked.clear()
        counted = Counted(kind(table(*game), game[1]))
        sampler = PermutationSampler(game[1], np.random.default_rng(0), truncation)
        for _ in range(3):
            sampler.advance(counted)
        return [*sampler.values(), sampler.depth], counted.evaluations

    alone = found(Watched)
    assert set(asked) == {1}
    assert found(Shared) == alone
    assert truncation is not None or 2 in asked
