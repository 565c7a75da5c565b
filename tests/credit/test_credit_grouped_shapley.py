from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.credit.exact_shapley import exact_shapley
from meritnas.credit.game import Counted, Function
from meritnas.credit.grouped_shapley import (
    GroupedSampler,
    expected_evaluations,
    samples_in_proportion,
)
from meritnas.credit.permutation_shapley import PermutationSampler


class Table:
    """A game given by the score of every coalition; keeps a log of what is asked."""

    def __init__(
        self, scores: np.ndarray, *, fixed: bool = True, null: np.ndarray | None = None
    ) -> None:
        self.players = int(np.log2(len(scores)))
        self.null = np.zeros(self.players, dtype=bool) if null is None else null
        self.fixed = fixed
        self.asked: list[tuple[bool, ...]] = []
        self.renewals = 0
        self._scores = scores

    def renew(self) -> None:
        self.renewals += 1
        self.asked.append(())

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        self.asked += [tuple(row) for row in coalitions.tolist()]
        return self._scores[coalitions @ (1 << np.arange(self.players))]


def table(players: int, seed: int = 0, **more: bool) -> Table:
    return Table(np.random.default_rng(seed).normal(size=2**players), **more)


def exact(game: Table) -> np.ndarray:
    return exact_shapley(Counted(game))


def estimate(
    game: Table, samples: list[int], seed: int, turns: int = 1
) -> tuple[GroupedSampler, int]:
    counted = Counted(game)
    sampler = GroupedSampler(np.array(samples), np.random.default_rng(seed), turns)
    for _ in range(turns):
        sampler.advance(counted)
    return sampler, counted.evaluations


@pytest.mark.parametrize(
    "samples", [[3, 3, 3, 3], [1, 4, 2, 4], [1, 1, 6, 1, 1, 6], [2, 7, 2, 2, 2, 3, 2, 9]]
)
def test_every_player_is_estimated_without_bias_whatever_the_numbers_are(
    samples: list[int],
) -> None:
    game = table(len(samples))
    found = np.array([estimate(game, samples, seed)[0].values() for seed in range(600)])
    errors = (found.mean(axis=0) - exact(game)) / (found.std(axis=0) / np.sqrt(600))
    assert np.abs(errors).max() < 4
    spread = found.var(axis=0) * np.array(samples)
    single = np.array([estimate(game, [1] * len(samples), seed)[0].values() for seed in range(600)])
    assert spread == pytest.approx(single.var(axis=0), rel=0.35)


def test_a_standard_error_says_how_far_estimates_lie_apart() -> None:
    game, samples = table(5), [5, 20, 5, 40, 5]
    runs = [estimate(game, samples, seed)[0] for seed in range(300)]
    spread = np.array([run.values() for run in runs]).std(axis=0)
    claimed = np.sqrt(np.mean([run.stderr() ** 2 for run in runs], axis=0))
    assert claimed == pytest.approx(spread, rel=0.15)
    few = estimate(game, [1, 2, 1, 2, 0], 0)[0]
    assert np.isinf(few.stderr()).tolist() == [True, False, True, False, True]
    assert few.values()[4] == 0


@pytest.mark.parametrize("fixed", [True, False])
def test_equal_numbers_are_plain_permutations(fixed: bool) -> None:
    game = table(6, fixed=fixed)
    sampler, evaluations = estimate(game, [5] * 6, 3)
    assert evaluations == 5 * 6 + (1 if fixed else 5)
    assert game.renewals == 5
    plain = PermutationSampler(6, np.random.default_rng(3), antithetic=False)
    for _ in range(5):
        plain.advance(Counted(game))
    assert sampler.values() == pytest.approx(plain.values())
    assert sampler.stderr() == pytest.approx(plain.stderr())
    assert sampler.everybody == plain.everybody


def test_only_coalitions_next_to_who_still_has_samples_are_evaluated_and_none_twice() -> None:
    samples = [2, 5, 2, 2, 5]
    game = table(5, fixed=False)
    _, evaluations = estimate(game, samples, 0)
    order = np.random.default_rng(0)
    expected: list[tuple[bool, ...]] = []
    for number in range(5):
        expected.append(())
        present, asked = np.ones(5, dtype=bool), []
        for player in order.permutation(5):
            before = tuple(present.tolist())
            present[player] = False
            if samples[player] > number:
                asked += [before, tuple(present.tolist())]
        expected += list(dict.fromkeys(asked))
    assert game.asked == expected
    assert evaluations == sum(bool(row) for row in expected) < 5 * 6


def test_expected_evaluations_are_the_mean_of_real_ones() -> None:
    null = np.array([False, False, True, False, False, False])
    samples = [2, 9, 0, 2, 9, 2]
    scores = np.random.default_rng(0).normal(size=64)
    counts = [
        estimate(Table(scores, fixed=False, null=null), samples, seed)[1] for seed in range(400)
    ]
    mean, error = np.mean(counts), np.std(counts) / 20
    assert abs(mean - expected_evaluations(np.array(samples), null)) < 4 * error
    assert expected_evaluations(np.full(7, 3), np.zeros(7, dtype=bool)) == pytest.approx(3 * 8)
    assert expected_evaluations(np.array([4]), np.array([False])) == pytest.approx(8)
    assert expected_evaluations(np.array([4]), np.array([True])) == 0


def test_null_players_stay_where_they_are_and_get_nothing() -> None:
    null = np.array([False, True, False, False])
    game = Table(np.random.default_rng(0).normal(size=16), null=null)
    sampler, evaluations = estimate(game, [4] * 4, 0)
    assert sampler.values()[1] == 0
    assert sampler.values()[[0, 2, 3]].all()
    assert evaluations == 4 * 3 + 1
    assert all(row[1] for row in game.asked if row)


@pytest.mark.parametrize(("most", "turns"), [(10, 4), (3, 5), (7, 7), (12, 5), (0, 3)])
def test_turns_make_all_permutations_between_them(most: int, turns: int) -> None:
    sampler = GroupedSampler(np.array([most, most // 2]), np.random.default_rng(0), turns)
    game, made = Counted(table(2)), [0]
    for _ in range(turns + 2):
        sampler.advance(game)
        made.append(sampler.permutations)
    assert made[turns:] == [most] * 3
    assert max(np.diff(made)) <= -(-most // turns)


def same_after_a_stop(make: Callable[[], Table], stop: int) -> None:
    samples, turns = np.array([3, 9, 3, 5]), 4
    straight, stopped = (GroupedSampler(samples, np.random.default_rng(7), turns) for _ in range(2))
    resumed = GroupedSampler(np.ones(4, dtype=int), np.random.default_rng(8), turns)
    game = Counted(make())
    for _ in range(turns):
        straight.advance(game)
    for _ in range(stop):
        stopped.advance(Counted(make()))
    resumed.load_state_dict(stopped.state_dict())
    for _ in range(turns - stop):
        resumed.advance(Counted(make()))
    assert resumed.state_dict() == straight.state_dict()
    assert resumed.values().tolist() == straight.values().tolist()
    assert resumed.samples.tolist() == samples.tolist()


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("stop", [0, 1, 3, 4])
def test_an_estimate_goes_on_where_it_stopped(fixed: bool, stop: int) -> None:
    same_after_a_stop(lambda: table(4, fixed=fixed), stop)


def test_a_plain_function_is_a_game() -> None:
    game = Counted(Function(lambda rows: rows @ np.array([1.0, -2.0, 0.5]), 3))
    sampler = GroupedSampler(np.array([1, 2, 1]), np.random.default_rng(0))
    sampler.advance(game)
    assert sampler.values() == pytest.approx([1.0, -2.0, 0.5])


def test_samples_follow_weights_and_edges_keep_theirs() -> None:
    kept = np.array([20, 20, 20, 20, 20, 60, 60, 60, 60])
    ops = (tuple(range(1, 9)),)
    even = samples_in_proportion(np.zeros(9), ops, kept, mean=40)
    assert even.tolist() == [20, *[40] * 8]
    assert samples_in_proportion(np.zeros(9), ops, kept).tolist() == even.tolist()
    logits = np.log([1, 1, 2, 3, 1, 1, 1, 1, 6.0])
    found = samples_in_proportion(logits, ops, kept, mean=40)
    assert found.tolist() == [20, 20, 40, 60, 20, 20, 20, 20, 120]
    assert found[1:].sum() == 8 * 40
    assert samples_in_proportion(logits - 50, ops, kept, 40).tolist() == found.tolist()


def test_samples_by_weight_have_bounds_and_what_they_take_the_others_share() -> None:
    kept = np.full(8, 40)
    strong = np.array([9.0, *[0.0] * 7])
    found = samples_in_proportion(strong, (tuple(range(8)),), kept)
    assert found[0] == 160
    assert found.sum() == 320
    assert set(found[1:].tolist()) == {22, 23}
    narrow = samples_in_proportion(strong, (tuple(range(8)),), kept, least=2, most=50)
    assert narrow.sum() == 320
    assert narrow[0] == 50
    assert kept.tolist() == [40] * 8


@given(
    st.lists(st.floats(-900, 900), min_size=2, max_size=9),
    st.integers(1, 60),
    st.integers(1, 6),
    st.integers(10, 200),
)
def test_a_node_has_as_many_samples_as_before_where_bounds_admit_it(
    logits: list[float], mean: int, least: int, most: int
) -> None:
    count = len(logits)
    group = (tuple(range(count)),)
    found = samples_in_proportion(
        np.array(logits), group, np.full(count, mean), least=least, most=most
    )
    assert found.min() >= least
    assert found.max() <= most
    assert found.sum() == np.clip(count * mean, count * least, count * most)
    order = np.argsort(logits, kind="stable")
    assert (np.diff(found[order]) >= -1).all()
