"""`shapley` with the path game: weights by uniform paths, values from judged ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space

from meritnas.clock import Clock
from meritnas.errors import UsageError
from meritnas.policy.balanced import balanced_draws
from meritnas.strategy.algorithms.path_shapley import PathShapley
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.turns import Turns

CLOCK = Clock(0, 10, "frozen", 0, 10)
SIZES = (3, 4, 3)


def path_shapley(limit: int | None = None, steps: int = 1000, **options: Any) -> PathShapley:
    problem = edge_problem(edge_set(edge_space(SIZES), limit), steps)
    found = strategy_spec("shapley", {"game": "path", **options}).make(problem)
    assert isinstance(found, PathShapley)
    return found


def exhausted(strategy: PathShapley, net: EdgeNet) -> PathShapley:
    probe = edge_probe(net)
    for _ in range(strategy.turns.most or 0):
        strategy.update(probe, CLOCK)
    return strategy


def planted(best: tuple[int, ...]) -> EdgeNet:
    """One option of each edge gives zeros, all others large noise: it is plainly the best."""
    net = EdgeNet(SIZES, silent=list(enumerate(best)))
    with torch.no_grad():
        for maps in net.maps:
            maps.mul_(3.0)
    return net


@pytest.mark.parametrize("best", [(0, 3, 1), (2, 0, 0)])
def test_what_is_plainly_best_is_chosen(best: tuple[int, ...]) -> None:
    strategy = exhausted(path_shapley(), planted(best))
    space = strategy.feasible.space
    assert space.picks(strategy.leader()) == best
    assert [int(row.argmax()) for row in strategy.beliefs()] == list(best)
    ranked = strategy.derive(edge_probe(planted(best)))
    assert ranked[0] == strategy.leader()
    assert len(set(ranked)) == 3


def test_under_a_limit_everything_that_is_trained_and_judged_keeps_it() -> None:
    strategy = exhausted(path_shapley(limit=4), planted((1, 1, 1)))
    trained = [[gate.active[0] for gate in strategy.sample(CLOCK)] for _ in range(40)]
    assert strategy.feasible.contains(np.array(trained)).all()
    assert strategy.feasible.contains(strategy.judged.picks).all()
    assert strategy.feasible.admits(strategy.leader())


def test_as_many_paths_are_judged_as_there_is_time_for() -> None:
    assert path_shapley().paths == 20 * 10
    assert path_shapley(steps=50).paths == 50
    assert path_shapley(steps=5).paths == 2 * 10
    assert path_shapley(judged_paths=40).turns == Turns("frozen", 3, 3)
    assert len(exhausted(path_shapley(judged_paths=40), EdgeNet(SIZES)).judged) == 40


def test_beliefs_are_equal_at_first_and_the_same_after_a_resume() -> None:
    strategy, probe = path_shapley(judged_paths=64), edge_probe(EdgeNet(SIZES))
    assert [row.tolist() for row in strategy.beliefs()] == [[1 / size] * size for size in SIZES]
    for _ in range(3):
        strategy.update(probe, CLOCK)
        strategy.beliefs()
    resumed = path_shapley(judged_paths=64)
    resumed.load_state_dict(strategy.state_dict())
    for one, other in zip(strategy.beliefs(), resumed.beliefs(), strict=True):
        assert one.tolist() == other.tolist()


def test_balanced_draws_have_every_option_equally_often() -> None:
    rng = np.random.default_rng(0)
    feasible = edge_set(edge_space(SIZES))
    picks = balanced_draws(feasible, 12, rng)
    for i, size in enumerate(SIZES):
        assert np.bincount(picks[:, i], minlength=size).tolist() == [12 // size] * size
    shares = np.mean([balanced_draws(feasible, 2, rng)[0] == [2, 3, 1] for _ in range(3000)], 0)
    assert shares == pytest.approx([1 / 3, 1 / 4, 1 / 3], abs=0.04)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"game": "path", "momentum": 0.5}, "momentum goes with game 'mixture', got game 'path'"),
        ({"game": "path", "permutations": 4}, "permutations goes with game 'mixture'"),
        ({"judged_paths": 40}, "judged_paths goes with game 'path', got game 'mixture'"),
    ],
)
def test_options_of_the_other_game_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        strategy_spec("shapley", wrong)
