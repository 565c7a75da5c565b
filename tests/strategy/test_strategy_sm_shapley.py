from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space

from meritnas.clock import Clock
from meritnas.credit.grouped_shapley import expected_evaluations
from meritnas.errors import UsageError
from meritnas.space.decision import SPARSE, TOGETHER, ZERO
from meritnas.strategy.algorithms.sm_shapley import GroupedMixture
from meritnas.strategy.catalogue import strategy_spec
from meritnas.supernet.probe import Probe

SIZES = (3, 2, 4)
TABLES = ((0, 1), (2,))
TAGS = {
    (0, 0): {ZERO},
    (0, 1): {TOGETHER},
    (0, 2): {TOGETHER},
    (2, 2): {SPARSE},
    (2, 3): {SPARSE},
}
"""Edge 0 is none, x or y; edge 2 has two normal and two sparse operations."""


def make(steps: int = 10**6, **options: Any) -> GroupedMixture:
    found = strategy_spec(
        "sm-shapley", {"normal_samples": 2, "sparse_samples": 6, "judged_rows": 16, **options}
    ).make(edge_problem(edge_set(edge_space(SIZES, TAGS)), steps, tables=TABLES))
    assert isinstance(found, GroupedMixture)
    return found


def new_probe() -> Probe:
    return edge_probe(EdgeNet(SIZES, silent=[(0, 0)]))


def clock(strategy: GroupedMixture, turn: int, epochs: int) -> Clock:
    turns = epochs * strategy.estimate.turns
    return Clock(turn, turns, "frozen", turn, turns)


def go(
    strategy: GroupedMixture, probe: Probe, epochs: int, start: int = 0, stop: int = 10**9
) -> list:
    """The turns of some epochs; what each reported."""
    last = min(stop, epochs * strategy.estimate.turns)
    return [strategy.update(probe, clock(strategy, turn, epochs)) for turn in range(start, last)]


def alpha(strategy: GroupedMixture) -> np.ndarray:
    return strategy.relaxation.policy.logits.numpy().copy()


def spent(reports: list) -> float:
    return sum(report.values.get("evaluations", 0.0) for report in reports if report is not None)


def test_sparse_operations_have_more_samples_and_what_is_silent_none() -> None:
    strategy = make()
    names = strategy.estimate.players.names
    assert dict(zip(names, strategy.estimate.samples.tolist(), strict=True)) == {
        "edge0=o0": 0,
        "edge0": 2,
        "edge1=o0": 2,
        "edge1=o1": 2,
        "edge2=o0": 2,
        "edge2=o1": 2,
        "edge2=o2": 6,
        "edge2=o3": 6,
    }
    assert strategy.turns.each_epoch == 6
    even = make(grouped=False).estimate
    assert even.samples.tolist() == [0, *[4] * 7]
    assert not even.shared  # nor do later samples follow weights, unless that is asked for
    assert make(grouped=False, proportional=True).estimate.shared
    assert make().estimate.shared
    paper = strategy_spec("sm-shapley").make(edge_problem(edge_set(edge_space(SIZES)), 10**6))
    assert isinstance(paper, GroupedMixture)
    assert paper.estimate.samples.tolist() == [20] * 9
    assert paper.turns.each_epoch == 20


def test_the_first_third_of_the_epochs_moves_by_gradient_before_the_first_estimate() -> None:
    strategy, probe = make(), new_probe()
    first = alpha(strategy)
    warm = go(strategy, probe, 3, stop=6)
    assert spent(warm) == 0
    assert all(report.values["used"] == 1.0 for report in warm)
    moved = alpha(strategy) - first
    assert 0 < np.abs(moved).max() < 0.01
    assert moved[1] != moved[2]
    assert probe.passes == 6  # four batches make a pass, but every turn has a step
    middle = alpha(strategy)
    go(strategy, probe, 3, start=6, stop=11)
    assert alpha(strategy).tolist() == middle.tolist()
    go(strategy, probe, 3, start=11, stop=12)
    change = alpha(strategy) - middle
    assert np.linalg.norm(change[[1, 3, 4]]) == pytest.approx(0.1)
    assert np.linalg.norm(change[5:]) == pytest.approx(0.1)
    assert change[0] == 0
    assert change[1] == pytest.approx(change[2])
    assert change[1:].all()


def test_a_pass_over_much_validation_data_is_dealt_out_over_the_turns() -> None:
    strategy = make(gradient_share=1.0, sparse_samples=4)
    probe = edge_probe(EdgeNet(SIZES, silent=[(0, 0)]), rows=160)
    counts = []
    for turn in range(4):
        before = probe.passes
        strategy.update(probe, clock(strategy, turn, 1))
        counts.append(probe.passes - before)
    assert sum(counts) == probe.evaluation_passes == 10
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("share", "epochs", "warm"),
    [(0.0, 4, 0), (1.0, 4, 4), (0.3, 10, 3), (1 / 3, 1, 0), (0.5, 3, 2)],
)
def test_the_warm_up_is_whole_epochs(share: float, epochs: int, warm: int) -> None:
    strategy, probe = make(gradient_share=share, proportional=False), new_probe()
    reports = go(strategy, probe, epochs)
    by_epoch = [spent(reports[first : first + 6]) > 0 for first in range(0, 6 * epochs, 6)]
    assert by_epoch == [False] * warm + [True] * (epochs - warm)


def test_both_kinds_of_moves_in_every_epoch() -> None:
    strategy, probe = make(both=True), new_probe()
    first = alpha(strategy)
    assert spent(go(strategy, probe, 3, stop=1)) > 0
    gradient = alpha(strategy) - first
    assert 0 < np.abs(gradient).max() < 0.01
    held = alpha(strategy)
    go(strategy, probe, 3, start=1, stop=5)
    assert alpha(strategy).tolist() == held.tolist()
    go(strategy, probe, 3, start=5, stop=6)
    assert np.linalg.norm((alpha(strategy) - held)[5:]) == pytest.approx(0.1)
    moved = alpha(strategy)
    go(strategy, probe, 3, start=6, stop=7)
    assert alpha(strategy).tolist() != moved.tolist()


def test_samples_follow_weights_after_the_first_estimate() -> None:
    strategy = make(gradient_share=0.0, step=5.0, normal_samples=20, sparse_samples=60)
    probe = new_probe()
    assert strategy._sampler.samples.tolist() == strategy.estimate.samples.tolist()
    turns = strategy.estimate.turns
    go(strategy, probe, 2, stop=turns)
    by_name = dict(
        zip(strategy.estimate.players.names, strategy._sampler.samples.tolist(), strict=True)
    )
    assert by_name["edge0=o0"] == 0
    assert by_name["edge0"] == 20
    weights = strategy.beliefs()[2]
    mean = np.mean([20, 20, 20, 20, 60, 60])
    found = np.array([by_name[f"edge2=o{k}"] for k in range(4)])
    assert found.sum() == 160
    assert found.max() == round(4 * mean)
    assert found.min() == round(mean / 10)
    assert np.argsort(found).tolist() == np.argsort(weights).tolist()
    still = make(gradient_share=0.0, proportional=False, step=5.0)
    go(still, probe, 2, stop=6)
    assert still._sampler.samples.tolist() == still.estimate.samples.tolist()


def test_in_both_samples_follow_weights_once_the_warm_up_is_over() -> None:
    strategy, probe = make(both=True, gradient_share=0.5, step=5.0), new_probe()
    counts = []
    for turn in range(24):
        if turn % 6 == 0:
            counts.append(strategy._sampler.samples.tolist())
        strategy.update(probe, clock(strategy, turn, 4))
    groups = strategy.estimate.samples.tolist()
    assert counts[:2] == [groups, groups]
    assert groups not in counts[2:]


@pytest.mark.parametrize("stop", [3, 7, 12, 15, 17])
@pytest.mark.parametrize("both", [False, True])
def test_a_stop_in_the_middle_leaves_no_trace(stop: int, both: bool) -> None:
    straight, stopped, resumed = (make(both=both, step=2.0) for _ in range(3))
    probes = [new_probe() for _ in range(3)]
    go(straight, probes[0], 3)
    go(stopped, probes[1], 3, stop=stop)
    resumed.load_state_dict(stopped.state_dict())
    probes[2].load_state_dict(probes[1].state_dict())
    go(resumed, probes[2], 3, start=stop)
    assert alpha(resumed).tolist() == alpha(straight).tolist()
    assert resumed.state_dict()["sampler"] == straight.state_dict()["sampler"]
    assert resumed.state_dict()["leaders"] == straight.state_dict()["leaders"]
    assert resumed.derive(probes[2]) == straight.derive(probes[0])


@pytest.mark.parametrize("options", [{}, {"grouped": False}, {"both": True}])
def test_what_helps_most_gains_weight_and_is_chosen(options: dict[str, Any]) -> None:
    """Targets are what option 3 of edge 2 gives; the others next to nothing."""
    net = EdgeNet(SIZES, silent=[(0, 0)])
    probe = edge_probe(net)
    with torch.no_grad():
        for i, maps in enumerate(net.maps):
            for j in range(len(maps)):
                maps[j] *= 1.0 if (i, j) == (2, 3) else 0.01
        useful = torch.tanh(probe._held.inputs @ net.maps[2][3].T) @ net.output.T
        probe._held.target.copy_(useful[:, 0])
    strategy = make(**options)
    go(strategy, probe, 6)
    assert np.argmax(strategy.beliefs()[2]) == 3
    assert strategy.beliefs()[2][3] > 0.27
    assert strategy.leader().options[2] == "o3"
    assert strategy.derive(probe)[0].options[2] == "o3"


def test_leaders_of_all_epochs_are_ranked_by_their_loss_at_the_end() -> None:
    strategy, probe = make(), new_probe()
    space = strategy.feasible.space
    rng = np.random.default_rng(0)
    led = []
    for _ in range(14):
        strategy.relaxation.policy.logits.copy_(torch.from_numpy(rng.normal(size=9)))
        strategy._remember()
        led.append(strategy.leader())
    latest = list(dict.fromkeys(reversed(led)))[:8]
    assert len(set(led)) > 8
    found = strategy.derive(probe)
    losses = [probe.held_out_loss(np.array(space.picks(one))) for one in found]
    assert set(found) == set(latest)
    assert losses == sorted(losses)
    assert found[0] != led[-1]


@pytest.mark.parametrize("steps", [1, 20, 40, 100, 1000])
def test_a_short_search_has_fewer_samples_in_the_same_ratio(steps: int) -> None:
    usual = {"normal_samples": None, "sparse_samples": None}
    strategy = make(steps, **usual)
    normal, sparse = strategy.estimate.samples[1], strategy.estimate.samples[-1]
    assert sparse == 3 * normal
    assert 2 <= normal <= 20
    cost = expected_evaluations(strategy.estimate.samples, strategy.estimate.players.null)
    assert strategy.most_moves is not None
    estimates = strategy.most_moves * 2 / 3
    assert estimates * cost <= max(6 * steps, cost)
    if normal > 2:
        assert estimates >= 2
        assert cost > 0.8 * min(6 * steps / 3, 20 * 8) * (1 - 1 / normal)
    assert (normal == 20) == (steps == 1000)
    given = make(steps, normal_samples=30, sparse_samples=None)
    assert given.estimate.samples.tolist() == [0, *[30] * 5, 60, 60]
    assert given.turns.most is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"normal_samples": 0}, "normal_samples must be at least 1, got 0"),
        ({"sparse_samples": 1.5}, "sparse_samples must be a whole number, got 1.5"),
        ({"step": 0.0}, "step must be above 0 and finite, got 0.0"),
        ({"policy_rate": -1.0}, "policy_rate must be above 0 and finite, got -1.0"),
        ({"gradient_share": 1.2}, "gradient_share must lie between 0 and 1, got 1.2"),
        ({"judged_rows": 0}, "judged_rows must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(**wrong)
