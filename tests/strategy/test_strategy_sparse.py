"""Strategies that run one path, or two: AdvantageNAS, REINFORCE, PARSEC, GDAS, ProxylessNAS."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space

from meritnas.clock import Clock
from meritnas.strategy.algorithms.gdas import GumbelPath, straight_through
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.algorithms.proxyless import TwoPaths, keep_mass, pair_gradient
from meritnas.strategy.algorithms.temperature import gdas_temperature, snas_temperature
from meritnas.strategy.catalogue import strategy_spec
from meritnas.supernet.gates import one_path

SIZES = (3, 3, 3)
SPARSE = ("advantage", "reinforce", "parsec", "gdas", "proxyless")
NONE = {(i, 0): {"absent", "zero"} for i in range(3)}


def clock(step: int, steps: int = 100, phase: Any = "joint") -> Clock:
    return Clock(step, steps, phase, step, steps)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("case", ["limit", "rule", "both"])
def test_everything_that_runs_is_feasible(name: str, case: str) -> None:
    tags = NONE if case != "limit" else None
    space = edge_space(SIZES, tags, present=None if case == "limit" else 2)
    feasible = edge_set(space, limit=None if case == "rule" else 4)
    assert 1 < feasible.count() < 27
    net = EdgeNet(SIZES, silent=list(tags or ()))
    probe = edge_probe(net)
    ran: list[list[int]] = []
    losses, gradients = probe.losses, probe.whole_gradients

    def watched_losses(picks: np.ndarray, batch: Any) -> np.ndarray:
        ran.extend(picks.tolist())
        return losses(picks, batch)

    def watched_gradients(gates: Any, batch: Any, leaves: Any, *more: Any) -> Any:
        paths = [gate.active for gate in gates]
        ran.append([path[0] for path in paths])
        for i, path in enumerate(paths):
            for other in path[1:]:
                ran.append([*ran[-1][:i], other, *ran[-1][i + 1 :]])
                ran[-1], ran[-2] = ran[-2], ran[-1]
        return gradients(gates, batch, leaves, *more)

    probe.losses = watched_losses  # type: ignore[method-assign]
    probe.whole_gradients = watched_gradients  # type: ignore[method-assign]
    strategy = strategy_spec(name, {"policy_rate": 0.2}).make(edge_problem(feasible, 64))
    for phase, step in itertools.product(("warmup", "joint"), range(64)):
        if phase == "joint":
            strategy.update(probe, clock(step, 64))
        gates = strategy.sample(clock(step, 64, phase))
        ran.append([gate.active[0] for gate in gates])
        assert all(len(gate.active) == 1 and gate.weights is None for gate in gates)
        assert feasible.admits(strategy.leader())
    assert feasible.contains(np.array(ran)).all()
    assert len(np.unique(np.array(ran), axis=0)) > 1


def test_reinforce_may_learn_from_what_does_not_fit() -> None:
    feasible = edge_set(edge_space(SIZES), limit=4)
    options = {"sampling": "unrestricted", "weight_draws": "policy", "final": "process-best"}
    strategy = strategy_spec("reinforce", options).make(edge_problem(feasible))
    probe = edge_probe(EdgeNet(SIZES))
    seen = []
    losses = probe.losses

    def watched(picks: np.ndarray, batch: Any) -> np.ndarray:
        seen.append(picks)
        return losses(picks, batch)

    probe.losses = watched  # type: ignore[method-assign]
    for step in range(0, 96, 8):
        strategy.update(probe, clock(step))
    judged = np.concatenate(seen)
    assert not feasible.contains(judged).all()
    assert all(feasible.admits(found) for found in strategy.derive(probe))


@pytest.mark.parametrize("name", ["advantage", "reinforce", "parsec", "gdas"])
def test_process_best_is_the_lowest_loss_of_all_that_was_judged(name: str) -> None:
    feasible = edge_set(edge_space(SIZES), limit=3)
    strategy: Any = strategy_spec(name, {"final": "process-best"}).make(edge_problem(feasible))
    assert feasible.admits(strategy.derive(edge_probe(EdgeNet(SIZES)))[0])
    probe = edge_probe(EdgeNet(SIZES))
    found: list[tuple[float, tuple[int, ...]]] = []
    losses, gradients = probe.losses, probe.whole_gradients

    def watched_losses(picks: np.ndarray, batch: Any) -> np.ndarray:
        values = losses(picks, batch)
        found.extend(zip(values.tolist(), map(tuple, picks.tolist()), strict=True))
        return values

    def watched_gradients(gates: Any, batch: Any, leaves: Any, *more: Any) -> Any:
        loss, slopes = gradients(gates, batch, leaves, *more)
        found.append((loss, tuple(gate.active[0] for gate in gates)))
        return loss, slopes

    probe.losses = watched_losses  # type: ignore[method-assign]
    probe.whole_gradients = watched_gradients  # type: ignore[method-assign]
    for step in range(40):
        strategy.update(probe, clock(step))
    best = feasible.space.architecture(min(found)[1])
    assert strategy.derive(probe)[0] == best
    assert len(strategy.derive(probe)) <= 2


def test_an_advantage_step_moves_by_the_gate_gradients() -> None:
    feasible = edge_set(edge_space(SIZES))
    strategy = strategy_spec("advantage").make(edge_problem(feasible))
    assert isinstance(strategy, PolicyGradient)
    net = EdgeNet(SIZES)
    probe = edge_probe(net)
    gradients: list[np.ndarray] = []
    strategy.policy.ascend = gradients.append  # type: ignore[method-assign]
    batches = edge_probe(net)
    strategy.update(probe, clock(0))
    batch = batches.valid_batch()
    picks = [int(np.argmax(row)) for row in np.split(np.abs(gradients[0]), 3)]
    outputs = [torch.tanh(batch.inputs @ net.maps[i][k].T) for i, k in enumerate(picks)]
    for output in outputs:
        output.retain_grad()
    loss = ((sum(outputs) @ net.output.T)[:, 0] - batch.target).square().mean()
    loss.backward()
    for row, pick, output in zip(np.split(gradients[0], 3), picks, outputs, strict=True):
        assert output.grad is not None
        advantage = -float((output.grad * output.detach()).sum())
        np.testing.assert_allclose(row, advantage * (np.eye(3)[pick] - 1 / 3), atol=1e-5)


def test_the_gradient_of_gdas_is_that_of_the_straight_through_estimator() -> None:
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    noise = torch.tensor(rng.gumbel(size=(3, 4)))
    tau = 1.7
    perturbed = logits.log_softmax(1) + noise
    soft = (perturbed / tau).softmax(1)
    hard = torch.nn.functional.one_hot(soft.argmax(1), 4).double()
    gates = hard - soft.detach() + soft
    picks = hard.argmax(1)
    chosen = gates[torch.arange(3), picks]  # what does not run has no part in the loss
    slopes = torch.tensor([0.7, -1.2, 0.4], dtype=torch.float64)
    (expected,) = torch.autograd.grad((chosen * slopes).sum(), logits)
    found = straight_through(list(perturbed.detach().numpy()), picks.numpy(), slopes.numpy(), tau)
    np.testing.assert_allclose(found.reshape(3, 4), expected.numpy(), atol=1e-12)


def test_gdas_draws_each_option_as_often_as_it_is_probable() -> None:
    feasible = edge_set(edge_space(SIZES))
    strategy = strategy_spec("gdas").make(edge_problem(feasible))
    assert isinstance(strategy, GumbelPath)
    strategy.policy.logits.copy_(torch.tensor([1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0]))
    drawn = [[gate.active[0] for gate in strategy.sample(clock(0))] for _ in range(4000)]
    for i, row in enumerate(strategy.beliefs()):
        found = np.bincount(np.array(drawn)[:, i], minlength=3) / 4000
        np.testing.assert_allclose(found, row, atol=0.03)


def test_temperatures_at_both_ends() -> None:
    assert gdas_temperature(clock(0)) == 10.0
    assert gdas_temperature(clock(99)) == pytest.approx(0.1)
    assert gdas_temperature(clock(50, 101)) == pytest.approx(5.05)
    assert gdas_temperature(clock(7, 10, "warmup")) == 10.0
    assert snas_temperature(clock(0)) == 1.0
    assert snas_temperature(clock(50, 101)) == pytest.approx(0.5)
    assert snas_temperature(clock(99)) == 0.03
    assert snas_temperature(clock(0, 1)) == 1.0


def test_a_pair_learns_through_the_softmax_of_its_two_logits() -> None:
    logits = [np.array([0.3, -0.5, 1.0]), np.array([0.1, 0.2])]
    slopes = [torch.tensor([0.4, 9.0, -0.3]), torch.tensor([1.0, 2.0])]
    leaf = torch.tensor([0.3, 1.0], dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad((leaf.softmax(0) * torch.tensor([0.4, -0.3])).sum(), leaf)
    found = pair_gradient(logits, [0, 1], [2, None], slopes)
    np.testing.assert_allclose(found[[0, 2]], expected.numpy(), rtol=1e-6)
    assert found[[1, 3, 4]].tolist() == [0.0, 0.0, 0.0]


def test_the_joint_mass_of_a_pair_is_kept() -> None:
    before = [np.array([0.3, -0.5, 1.0])]
    after = [np.array([0.9, -0.5, 0.7])]
    keep_mass(after, before, [0], [2])
    assert np.exp(after[0][[0, 2]]).sum() == pytest.approx(np.exp(before[0][[0, 2]]).sum())
    assert after[0][0] - after[0][2] == pytest.approx(0.2)
    assert after[0][1] == -0.5


def test_proxyless_moves_pairs_only_and_keeps_their_mass() -> None:
    feasible = edge_set(edge_space(SIZES))
    strategy = strategy_spec("proxyless", {"policy_rate": 0.1}).make(edge_problem(feasible))
    assert isinstance(strategy, TwoPaths)
    probe = edge_probe(EdgeNet(SIZES))
    for step in range(20):
        before = [row.copy() for row in strategy.policy.rows()]
        strategy.update(probe, clock(step))
        for old, new in zip(before, strategy.policy.rows(), strict=True):
            assert (old != new).sum() == 2
            assert np.exp(old).sum() == pytest.approx(np.exp(new).sum())


def test_proxyless_learns_nothing_where_the_active_option_is_silent() -> None:
    tags = {(0, k): {"zero"} for k in range(2)}
    feasible = edge_set(edge_space((2, 2), tags))
    strategy = strategy_spec("proxyless", {"policy_rate": 0.1}).make(edge_problem(feasible))
    assert isinstance(strategy, TwoPaths)
    probe = edge_probe(EdgeNet((2, 2), silent=list(tags)))
    for step in range(10):
        learnt = strategy.update(probe, clock(step))
        assert learnt is not None
        assert learnt.values["pairs"] == 1
    assert strategy.policy.rows()[0].tolist() == [0.0, 0.0]
    assert (strategy.policy.rows()[1] != 0).all()


@pytest.mark.parametrize("name", SPARSE)
def test_they_find_the_only_map_that_gives_the_target(name: str) -> None:
    net = EdgeNet((4, 4), seed=2)
    star = [2, 1]
    probe = edge_probe(net, rows=256, batch=64)
    with torch.no_grad():
        for stream in (probe._train, probe._valid):
            stream._rows.target.copy_(net(stream._rows.inputs, one_path(star))[:, 0])
    feasible = edge_set(edge_space((4, 4)))
    samples = {"samples": 4} if name in ("reinforce", "parsec") else {}
    options = {"policy_rate": 0.05, **samples}
    strategy = strategy_spec(name, options).make(edge_problem(feasible, 800))
    for step in range(800):
        strategy.update(probe, clock(step, 800))
    assert feasible.space.picks(strategy.leader()) == tuple(star)
