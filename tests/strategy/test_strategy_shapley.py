from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space

from meritnas.clock import Clock
from meritnas.errors import UsageError
from meritnas.space.decision import ZERO
from meritnas.strategy.algorithms.ranked_by_shapley import RankedByShapley
from meritnas.strategy.algorithms.shapley import ShapleyMixture
from meritnas.strategy.algorithms.shapley_step import NewestStep, ShapleyStep, blocks_of
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.strategy.turns import Turns

CLOCK = Clock(0, 10, "frozen", 0, 10)
SIZES = (3, 2, 3)
TABLES = ((0, 1), (2,))


def problem(silent: bool = False) -> Problem:
    tags = {(0, 0): {ZERO}} if silent else None
    return edge_problem(edge_set(edge_space(SIZES, tags)), tables=TABLES)


def shapley(silent: bool = False, **options: Any) -> ShapleyMixture:
    options = {"permutations": 4, "truncation": 0.0, **options}
    found = strategy_spec("shapley", options).make(problem(silent))
    assert isinstance(found, ShapleyMixture)
    return found


def block_norms(change: np.ndarray) -> list[float]:
    return [float(np.linalg.norm(change[:5])), float(np.linalg.norm(change[5:]))]


def test_weights_move_when_an_estimate_is_complete_by_one_step_in_every_table() -> None:
    strategy, probe = shapley(), edge_probe(EdgeNet(SIZES))
    assert strategy.turns == Turns("frozen", each_epoch=2)
    before = strategy.logits.copy()
    strategy.update(probe, CLOCK)
    assert strategy.logits.tolist() == before.tolist()
    strategy.update(probe, CLOCK)
    assert block_norms(strategy.logits - before) == pytest.approx([0.1, 0.1])
    middle = strategy.logits.copy()
    for _ in range(2):
        strategy.update(probe, CLOCK)
    assert block_norms(strategy.logits - middle) == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize(
    ("normalisation", "blocks"),
    [
        ("table", [[0, 1, 2, 3, 4], [5, 6, 7]]),
        ("edge", [[0, 1, 2], [3, 4], [5, 6, 7]]),
        ("global", [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ("zscore", [[0, 1, 2, 3, 4], [5, 6, 7]]),
    ],
)
def test_what_is_scaled_together(normalisation: Any, blocks: list[list[int]]) -> None:
    decisions = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    found = blocks_of(normalisation, decisions, TABLES)
    assert [block.tolist() for block in found] == blocks


def test_values_are_averaged_and_scaled_twice() -> None:
    step = ShapleyStep((np.arange(3),), momentum=0.8, size=0.1)
    first, change = step.moved(np.zeros(3), np.array([3.0, 0.0, 4.0]))
    assert first == pytest.approx([0.12, 0.0, 0.16])
    assert change == pytest.approx([0.06, 0.0, 0.08])
    second, change = step.moved(first, np.array([0.0, 1.0, 0.0]))
    assert second == pytest.approx([0.096, 0.2, 0.128])
    assert change == pytest.approx(0.1 * second / np.linalg.norm(second))
    still, change = step.moved(np.zeros(3), np.zeros(3))
    assert not still.any()
    assert not change.any()


def weights_of_estimates(step: ShapleyStep, count: int) -> np.ndarray:
    """How much of each of so many estimates, all at right angles, is in alpha, in steps."""
    average, alpha = np.zeros(count), np.zeros(count)
    for number in range(count):
        average, change = step.moved(average, 7.0 * np.eye(count)[number], number + 1)
        alpha += change
    return alpha / step.size


def test_the_papers_step_counts_early_estimates_most() -> None:
    step = ShapleyStep((np.arange(3),), momentum=0.8, size=0.1)
    assert weights_of_estimates(step, 3) == pytest.approx([2.07, 1.34, 0.70], abs=0.005)
    even = ShapleyStep((np.arange(3),), momentum=0.0, size=0.1)
    assert weights_of_estimates(even, 3) == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.8, 0.999])
def test_the_newest_estimates_count_most_where_that_is_asked_for(
    momentum: float, count: int
) -> None:
    """An estimate that is k others old has momentum^k of the newest one's weight; they sum to t."""
    found = weights_of_estimates(NewestStep((np.arange(count),), momentum, 0.1), count)
    assert found.sum() == pytest.approx(count)
    assert found[:-1] == pytest.approx(momentum * found[1:], abs=1e-9)


def test_the_step_is_an_option_and_knows_how_many_were_before() -> None:
    assert type(shapley().step) is ShapleyStep
    strategy, again = shapley(weighing="newest"), shapley(weighing="newest")
    assert type(strategy.step) is NewestStep
    strategy.moves = 3
    again.load_state_dict(strategy.state_dict())
    assert again.moves == 3


def test_the_released_code_standardises_values_once() -> None:
    step = ShapleyStep((np.arange(4),), momentum=0.5, size=0.1, zscore=True)
    average, change = step.moved(np.zeros(4), np.array([0.0, 0.0, 0.0, 4.0]))
    expected = (np.array([0.0, 0.0, 0.0, 4.0]) - 1.0) / np.sqrt(3.0)
    assert average == pytest.approx(0.5 * expected)
    assert change == pytest.approx(0.05 * expected)


def test_the_released_variant_is_pessimistic_and_begins_with_noise() -> None:
    plain, released = shapley(), shapley(variant="released")
    assert plain.estimate.lower == 0.0
    assert released.estimate.lower == 1.0
    assert released.estimate.judged_rows == 1024
    assert released.turns == Turns("frozen", each_epoch=4)
    assert released.average.any()
    assert not plain.average.any()
    sampler = released.estimate.begin(np.random.default_rng(0))
    sampler._marginals = [np.full(8, 1.0), np.full(8, 3.0)]
    assert released.estimate.values(sampler) == pytest.approx(np.full(8, 1.0))
    assert plain.estimate.values(sampler) == pytest.approx(np.full(8, 2.0))


def test_an_option_of_zeros_is_never_moved_and_never_removed() -> None:
    strategy = shapley(silent=True, permutations=2)
    net = EdgeNet(SIZES, silent=[(0, 0)])
    probe = edge_probe(net)
    before = strategy.logits.copy()
    learnt = strategy.update(probe, CLOCK)
    assert learnt is not None
    assert learnt.values["evaluations"] == 1 + 2 * 7
    assert strategy.logits[0] == before[0]
    assert (strategy.logits[1:] != before[1:]).all()


def test_an_unfinished_estimate_is_part_of_the_state() -> None:
    straight, stopped, resumed = shapley(), shapley(), shapley()
    probes = [edge_probe(EdgeNet(SIZES)) for _ in range(3)]
    for _ in range(2):
        straight.update(probes[0], CLOCK)
    stopped.update(probes[1], CLOCK)
    resumed.load_state_dict(stopped.state_dict())
    probes[2].load_state_dict(probes[1].state_dict())
    resumed.update(probes[2], CLOCK)
    assert resumed.logits.tolist() == straight.logits.tolist()
    assert resumed.average.tolist() == straight.average.tolist()


@pytest.mark.parametrize("permutations", [1, 4])
def test_a_regression_takes_as_many_evaluations_and_goes_on_where_it_stopped(
    permutations: int,
) -> None:
    options = {"estimator": "regression", "truncation": None, "permutations": permutations}
    straight, stopped, resumed = (shapley(**options) for _ in range(3))
    probes = [edge_probe(EdgeNet(SIZES)) for _ in range(3)]
    learnt = [straight.update(probes[0], CLOCK) for _ in range(straight.estimate.turns)]
    spent = sum(one.values["evaluations"] for one in learnt if one is not None)
    assert spent == permutations * 8
    stopped.update(probes[1], CLOCK)
    resumed.load_state_dict(stopped.state_dict())
    probes[2].load_state_dict(probes[1].state_dict())
    for _ in range(straight.estimate.turns - 1):
        resumed.update(probes[2], CLOCK)
    assert resumed.logits.tolist() == straight.logits.tolist()
    assert block_norms(straight.logits - shapley(**options).logits) == pytest.approx([0.1, 0.1])


def test_certainty_ends_an_estimate_early() -> None:
    strategy = shapley(permutations=200, confidence=0.8)
    probe = edge_probe(EdgeNet(SIZES), batch=64)
    before = strategy.logits.copy()
    updates = [strategy.update(probe, CLOCK) for _ in range(100)]
    made = sum(update is not None for update in updates)
    assert 5 <= made < 100
    assert updates[made:] == [None] * (100 - made)
    assert (strategy.logits != before).all()


def test_what_helps_most_gains_weight_and_is_chosen() -> None:
    """Targets are what option 1 of edge 2 gives; the others next to nothing."""
    net = EdgeNet(SIZES)
    probe = edge_probe(net)
    with torch.no_grad():
        for i, maps in enumerate(net.maps):
            for j in range(len(maps)):
                maps[j] *= 1.0 if (i, j) == (2, 1) else 0.01
        inputs = probe._held.inputs
        useful = torch.tanh(inputs @ net.maps[2][1].T) @ net.output.T
        probe._held.target.copy_(useful[:, 0] / 3)
    strategy = shapley(permutations=6)
    for _ in range(15):
        strategy.update(probe, CLOCK)
    assert np.argmax(strategy.beliefs()[2]) == 1
    assert strategy.leader().options[2] == "o1"
    ranked = strategy_spec("darts-shapley-frozen", {"truncation": 0.0}).make(problem())
    assert isinstance(ranked, RankedByShapley)
    assert ranked.derive(probe)[0].options[2] == "o1"
    assert ranked.turns.each_epoch == 0


@pytest.mark.parametrize(
    ("steps", "permutations", "estimates"),
    [(40, 10, 3), (10_000, 10, 750), (10, 2, 3), (1, 2, 1), (20, 4, 3)],
)
def test_a_short_search_makes_fewer_estimates_of_fewer_permutations(
    steps: int, permutations: int, estimates: int
) -> None:
    found = strategy_spec("shapley").make(edge_problem(edge_set(edge_space(SIZES)), steps))
    assert isinstance(found, ShapleyMixture)
    assert found.turns.each_epoch == permutations // 2
    assert found.most_moves == estimates
    given = strategy_spec("shapley", {"permutations": 6}).make(
        edge_problem(edge_set(edge_space(SIZES)), steps)
    )
    assert given.turns == Turns("frozen", each_epoch=3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"permutations": 0}, "permutations"),
        ({"truncation": 2.0}, "truncation must lie between 0 and 1, got 2.0"),
        ({"momentum": -0.1}, "momentum must lie between 0 and 1, got -0.1"),
        ({"weighing": "newest", "momentum": 1.0}, "weighing 'newest' has a momentum below 1, got"),
        ({"step": 0.0}, "step must be above 0 and finite, got 0.0"),
        ({"normalisation": "cell"}, "normalisation must be one of table, edge, global, zscore"),
        ({"estimator": "regression"}, "truncation goes with estimator 'permutation'"),
        (
            {"estimator": "regression", "truncation": None, "confidence": 0.9},
            "confidence goes with estimator 'permutation'",
        ),
        (
            {"estimator": "regression", "truncation": None, "antithetic": False},
            "no antithetic goes with estimator 'permutation'",
        ),
        (
            {"estimator": "regression", "truncation": None, "variant": "released"},
            "variant 'released' has estimator 'permutation'",
        ),
        ({"variant": "new"}, "variant must be one of paper, released, got 'new'"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shapley(**wrong)
