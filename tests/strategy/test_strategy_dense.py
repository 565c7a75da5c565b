"""Strategies that run all options at once: DARTS, its second order, PC-DARTS, SNAS, NASP."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space, square

from meritnas.clock import Clock
from meritnas.strategy.algorithms.darts import Softmax, Unrolled
from meritnas.strategy.algorithms.dense import Dense
from meritnas.strategy.algorithms.nasp import Proximal
from meritnas.strategy.algorithms.pc_darts import EdgeNormalised
from meritnas.strategy.algorithms.snas import Concrete
from meritnas.strategy.catalogue import strategy_spec
from meritnas.supernet.gates import mixture, one_path

SIZES = (3, 2, 3)
DENSE = ("darts", "darts-2nd", "pc-darts", "snas", "nasp")
CLOCK = Clock(0, 100, "joint", 0, 100)
NODES = ((0, 1), (2,))


def made(name: str, feasible: Any, steps: int = 100, **options: Any) -> Any:
    return strategy_spec(name, options).make(edge_problem(feasible, steps, nodes=NODES))


def test_darts_descends_the_validation_loss_of_its_mixture() -> None:
    strategy = made("darts", edge_set(edge_space(SIZES)))
    assert isinstance(strategy, Dense)
    assert isinstance(strategy.relaxation, Softmax)
    policy = strategy.relaxation.policy
    assert 0 < float(policy.logits.abs().max()) < 0.01
    net = EdgeNet(SIZES)
    gradients: list[np.ndarray] = []
    policy.ascend = gradients.append  # type: ignore[method-assign]
    strategy.update(edge_probe(net), CLOCK)
    batch = edge_probe(net).valid_batch()
    alpha = policy.logits.float().requires_grad_()
    rows = [row.softmax(0) for row in alpha.split(SIZES)]
    loss = square(net(batch.inputs, mixture(rows)), batch.target, None)
    (expected,) = torch.autograd.grad(loss, alpha)
    np.testing.assert_allclose(gradients[0], -expected.numpy(), rtol=1e-4, atol=1e-6)


def test_weights_train_on_the_same_mixture_without_gradients() -> None:
    strategy = made("darts", edge_set(edge_space(SIZES)))
    for phase in ("warmup", "joint"):
        gates = strategy.sample(Clock(0, 10, phase, 0, 10))
        for gate, row, size in zip(gates, strategy.beliefs(), SIZES, strict=True):
            assert gate.active == tuple(range(size))
            assert not gate.weights.requires_grad
            np.testing.assert_allclose(gate.weights.numpy(), row, atol=1e-6)


def test_the_unrolled_gradient_is_that_of_the_exact_double_backward() -> None:
    net = EdgeNet(SIZES).double()
    xi = 0.05
    rows = [torch.rand(size, dtype=torch.float64) for size in SIZES]
    loss, found = Unrolled(xi)(edge_probe(net), rows)

    twin = edge_probe(net)
    train, valid = twin.train_batch(), twin.valid_batch()
    leaves = [row.clone().requires_grad_() for row in rows]
    held = {name: param.detach().requires_grad_() for name, param in net.named_parameters()}
    trained = square(net(train.inputs, mixture(leaves), held), train.target, None)
    slopes = torch.autograd.grad(trained, list(held.values()), create_graph=True)
    moved = {n: w - xi * s for (n, w), s in zip(held.items(), slopes, strict=True)}
    judged = square(net(valid.inputs, mixture(leaves), moved), valid.target, None)
    exact = torch.autograd.grad(judged, leaves)

    assert loss == pytest.approx(judged.item())
    first = edge_probe(net)
    gates = mixture([row.clone().requires_grad_() for row in rows])
    direct = first.gradients(gates, first.valid_batch(), [gate.weights for gate in gates])[1]
    for a, b, plain in zip(found, exact, direct, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
        assert (plain - b).abs().max() > 0.05
    assert all(param.grad is None for param in net.parameters())


def test_the_second_order_costs_four_passes() -> None:
    probe = edge_probe(EdgeNet(SIZES))
    made("darts-2nd", edge_set(edge_space(SIZES))).update(probe, CLOCK)
    assert probe.passes == 4


def test_an_option_that_only_leaves_an_edge_out_is_not_mixed() -> None:
    tags = {(i, 0): {"absent"} for i in range(3)}
    feasible = edge_set(edge_space((3, 3, 3), tags, present=2))
    probe = edge_probe(EdgeNet((3, 3, 3)))
    for name in DENSE:
        strategy = made(name, feasible)
        for step in range(3):
            gates = strategy.sample(Clock(step, 100, "joint", step, 100))
            if name != "nasp":
                assert all(0 not in gate.active for gate in gates)
            strategy.update(probe, Clock(step, 100, "joint", step, 100))
        assert all(row[0] == 0.0 for row in strategy.beliefs())
        assert feasible.admits(strategy.leader())


def test_the_final_choice_keeps_the_two_strongest_edges_and_never_none() -> None:
    tags = {(i, 0): {"absent", "zero"} for i in range(4)}
    feasible = edge_set(edge_space((4,) * 4, tags, present=2))
    rng = np.random.default_rng(0)
    for _ in range(20):
        strategy = made("darts", feasible)
        strategy.relaxation.policy.logits.copy_(torch.from_numpy(rng.normal(size=16)))
        strategy.relaxation.policy.logits[::4] += 3.0  # the softmax likes none
        weights = np.array(strategy.beliefs())
        best = weights[:, 1:].max(axis=1)
        kept = set(np.argsort(-best)[:2].tolist())
        expected = tuple(1 + int(weights[i, 1:].argmax()) if i in kept else 0 for i in range(4))
        assert feasible.space.picks(strategy.leader()) == expected


def test_a_limit_is_kept_by_the_best_that_fits() -> None:
    feasible = edge_set(edge_space(SIZES), limit=4)
    every = np.array(list(itertools.product(*map(range, SIZES))))
    members = every[feasible.contains(every)]
    for name in DENSE:
        strategy = made(name, feasible)
        probe = edge_probe(EdgeNet(SIZES))
        for step in range(10):
            strategy.update(probe, Clock(step, 100, "joint", step, 100))
        is_nasp = isinstance(strategy, Proximal)
        scores = strategy.policy.rows() if is_nasp else strategy.relaxation.scores()
        sums = [sum(scores[i][k] for i, k in enumerate(row)) for row in members]
        best = feasible.space.architecture(members[int(np.argmax(sums))])
        assert strategy.derive(probe) == [best]


def test_the_weights_of_a_node_sum_to_one_with_edge_normalisation() -> None:
    strategy = made("pc-darts", edge_set(edge_space(SIZES)))
    assert isinstance(strategy.relaxation, EdgeNormalised)
    probe = edge_probe(EdgeNet(SIZES))
    for step in range(5):
        strategy.update(probe, Clock(step, 100, "joint", step, 100))
    gates = strategy.sample(CLOCK)
    sums = [float(gate.weights.sum()) for gate in gates]
    assert sums[0] + sums[1] == pytest.approx(1.0)
    assert sums[2] == pytest.approx(1.0)
    assert sums[0] != pytest.approx(0.5, abs=1e-3)
    for gate, row in zip(gates, strategy.relaxation.scores(), strict=True):
        np.testing.assert_allclose(gate.weights.numpy(), row, atol=1e-6)
    plain = made("pc-darts", edge_set(edge_space(SIZES)), edge_normalisation=False)
    assert isinstance(plain.relaxation, Softmax)


def test_soft_draws_harden_and_carry_gradients() -> None:
    strategy = made("snas", edge_set(edge_space(SIZES)))
    assert isinstance(strategy.relaxation, Concrete)
    first = [strategy.sample(Clock(0, 100, "joint", 0, 100)) for _ in range(200)]
    last = [strategy.sample(Clock(99, 100, "joint", 99, 100)) for _ in range(200)]

    def sharpness(draws: list[Any]) -> float:
        return float(np.mean([float(gate.weights.max()) for path in draws for gate in path]))

    assert sharpness(first) < 0.8
    assert sharpness(last) > 0.97
    favoured = np.bincount([int(path[0].weights.argmax()) for path in last], minlength=3) / 200
    np.testing.assert_allclose(favoured, 1 / 3, atol=0.12)
    before = strategy.relaxation.options.policy.logits.clone()
    strategy.update(edge_probe(EdgeNet(SIZES)), CLOCK)
    assert not torch.equal(before, strategy.relaxation.options.policy.logits)


def test_nasp_moves_the_continuous_copy_by_the_gradient_at_the_discrete_point() -> None:
    strategy = made("nasp", edge_set(edge_space(SIZES)), policy_rate=0.4)
    assert isinstance(strategy, Proximal)
    assert float((strategy.policy.logits - 0.5).abs().max()) < 0.01
    net = EdgeNet(SIZES)
    probe = edge_probe(net)
    gradients: list[np.ndarray] = []
    ascend = strategy.policy.ascend
    strategy.policy.ascend = gradients.append  # type: ignore[method-assign]
    point = strategy.point()
    assert point == tuple(int(np.argmax(row)) for row in strategy.policy.rows())
    assert strategy.sample(CLOCK) == one_path(point)
    strategy.update(probe, CLOCK)
    assert sorted(net.ran) == [(i, j) for i, size in enumerate(SIZES) for j in range(size)]
    batch = edge_probe(net).valid_batch()
    hot = [torch.eye(size)[k].requires_grad_() for size, k in zip(SIZES, point, strict=True)]
    outputs = sum(
        (
            torch.tanh(batch.inputs @ net.maps[i][j].T) * row[j]
            for i, row in enumerate(hot)
            for j in range(len(row))
        ),
        torch.zeros(()),
    )
    loss = square(outputs @ net.output.T, batch.target, None)
    expected = torch.cat(torch.autograd.grad(loss, hot))
    np.testing.assert_allclose(gradients[0], -expected.numpy(), rtol=1e-4, atol=1e-5)

    strategy.policy.ascend = ascend  # type: ignore[method-assign]
    for step in range(10):
        strategy.update(probe, Clock(step, 100, "joint", step, 100))
        weights = strategy.policy.logits
        assert float(weights.min()) >= 0.0
        assert float(weights.max()) <= 1.0
    assert {0.0, 1.0} & set(strategy.policy.logits.tolist())


def test_nasp_warms_up_on_random_paths_and_trains_one_path_after() -> None:
    strategy = made("nasp", edge_set(edge_space(SIZES), limit=5))
    warm = {
        tuple(gate.active[0] for gate in strategy.sample(Clock(k, 50, "warmup", k, 50)))
        for k in range(50)
    }
    assert len(warm) > 5
    joint = {strategy.sample(Clock(k, 50, "joint", k, 50)) for k in range(5)}
    assert len(joint) == 1


@pytest.mark.parametrize("name", DENSE)
def test_a_saved_strategy_goes_on_bit_for_bit(name: str) -> None:
    feasible = edge_set(edge_space(SIZES), limit=6)
    one, other = made(name, feasible), made(name, feasible)
    probe = edge_probe(EdgeNet(SIZES))
    for step in range(3):
        one.update(probe, Clock(step, 9, "joint", step, 9))
    other.load_state_dict(one.state_dict())
    twin = edge_probe(EdgeNet(SIZES))
    twin.load_state_dict(probe.state_dict())
    for step in range(3, 6):
        clock = Clock(step, 9, "joint", step, 9)
        one.update(probe, clock)
        other.update(twin, clock)
    for a, b in zip(one.beliefs(), other.beliefs(), strict=True):
        assert a.tolist() == b.tolist()
