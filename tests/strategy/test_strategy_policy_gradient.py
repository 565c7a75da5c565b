from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.credit.baseline import Paired
from meritnas.credit.credit import score_gradient
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.policy.laws import Conditional, Draw, Law, Rejection, Uncorrected
from meritnas.policy.policy import Policy
from meritnas.strategy.algorithms.pace import PACES
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe
from meritnas.workers.virtual import VirtualWorkers

SPACE = tabular_space(2, 1, 2, (2, 3, 4))
FEASIBLE = SPACE.feasible(max_params=25)
EVERY = list(itertools.product(range(3), repeat=2))
FITTING = [p for p in EVERY if SPACE.cost(SPACE.space.architecture(p)) <= 25]
CLOCK = Clock(0, 100, "joint", 0, 100)


def test_a_gradient_is_the_sum_of_signal_times_onehot_minus_center() -> None:
    center = [np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.4])]
    drawn = Draw(np.array([[0, 1], [2, 0], [0, 0]]), center, None)
    found = score_gradient(drawn, np.array([1.0, -2.0, 0.5]))
    expected = np.zeros(5)
    for (a, b), signal in zip(drawn.picks, [1.0, -2.0, 0.5], strict=True):
        onehot = np.concatenate([np.eye(3)[a], np.eye(2)[b]])
        expected += signal * (onehot - np.concatenate(center))
    np.testing.assert_allclose(found, expected)


def test_the_expected_gradient_is_that_of_the_expected_reward_given_feasibility() -> None:
    rng = np.random.default_rng(0)
    policy = Policy((3, 3), 0.1)
    policy.logits.copy_(torch.from_numpy(rng.normal(size=6)))
    rewards = {picks: float(rng.normal()) for picks in FITTING}

    logits = policy.logits.clone().requires_grad_()
    scores = torch.stack([logits[a] + logits[3 + b] for a, b in FITTING])
    chances = scores.softmax(0)
    expected_reward = chances @ torch.tensor([rewards[p] for p in FITTING], dtype=torch.float64)
    (exact,) = torch.autograd.grad(expected_reward, logits)

    center = Conditional(FEASIBLE).draw(policy, 1, rng).center
    for baseline in (0.0, 5.0):  # any baseline leaves the expectation as it is
        found = sum(
            float(chance)
            * score_gradient(Draw(np.array([p]), center, None), np.array([rewards[p] - baseline]))
            for p, chance in zip(FITTING, chances.detach(), strict=True)
        )
        np.testing.assert_allclose(found, exact.numpy(), atol=1e-12)


def mean_gradient(
    law: Law, policy: Policy, rewards: dict[tuple[int, ...], float], baseline: float
) -> np.ndarray:
    """The exact mean of the score gradient over feasible draws."""
    center = law.draw(policy, 1, np.random.default_rng(0)).center
    rows = policy.probabilities()
    weights = np.array([rows[0][a] * rows[1][b] for a, b in FITTING])
    gradients = [
        score_gradient(Draw(np.array([p]), center, None), np.array([rewards[p] - baseline]))
        for p in FITTING
    ]
    return np.array(weights / weights.sum() @ np.array(gradients))


def test_without_the_probability_of_fitting_the_gradient_is_biased_by_the_mean_signal() -> None:
    rng = np.random.default_rng(1)
    policy = Policy((3, 3), 0.1)
    policy.logits.copy_(torch.from_numpy(rng.normal(size=6)))
    rewards = {picks: float(rng.normal()) for picks in FITTING}

    logits = policy.logits.clone().requires_grad_()
    rows = logits.view(2, 3).log_softmax(dim=1)
    chances = torch.stack([rows[0, a] + rows[1, b] for a, b in FITTING]).exp()
    expected_reward = (
        chances @ torch.tensor(list(rewards.values()), dtype=torch.float64) / chances.sum()
    )
    (exact,) = torch.autograd.grad(expected_reward, logits, retain_graph=True)
    (slope,) = torch.autograd.grad(chances.sum().log(), logits)
    mean = float(expected_reward.detach())

    for baseline in (mean - 1.0, mean, mean + 0.3):
        corrected = mean_gradient(Rejection(FEASIBLE), policy, rewards, baseline)
        np.testing.assert_allclose(corrected, exact.numpy(), atol=1e-12)
        uncorrected = mean_gradient(Uncorrected(FEASIBLE), policy, rewards, baseline)
        bias = (mean - baseline) * slope.numpy()
        np.testing.assert_allclose(uncorrected - exact.numpy(), bias, atol=1e-12)
    assert float(slope.abs().max()) > 0.05


def test_rewards_below_average_drive_an_uncorrected_policy_out_of_the_feasible_set() -> None:
    equal = dict.fromkeys(FITTING, 0.2)  # no network is better than another
    chances = {}
    for name, law in (("exact", Rejection(FEASIBLE)), ("uncorrected", Uncorrected(FEASIBLE))):
        policy = Policy((3, 3), 0.05)
        for _ in range(50):
            policy.ascend(mean_gradient(law, policy, equal, 0.5))
        chances[name] = FEASIBLE.probability(policy.rows())
    uniform = len(FITTING) / len(EVERY)
    assert abs(chances["exact"] - uniform) < 1e-9
    assert chances["uncorrected"] < 0.1 * uniform


def test_paired_rewards_need_no_probability_of_fitting() -> None:
    policy = Policy((3, 3), 0.1)
    policy.logits.copy_(torch.from_numpy(np.random.default_rng(2).normal(size=6)))
    picks = np.array(FITTING[:4])
    rewards = [0.3, -0.2, 0.9, 0.4]
    found = {}
    for law in (Rejection(FEASIBLE), Uncorrected(FEASIBLE)):
        center = law.draw(policy, 1, np.random.default_rng(0)).center
        drawn = Draw(picks, center, None)
        for name, signals in (("paired", Paired().signals(rewards)), ("plain", rewards)):
            found[type(law).__name__, name] = score_gradient(drawn, np.array(signals))
    gaps = {
        name: np.abs(found["Rejection", name] - found["Uncorrected", name]).max()
        for name in ("paired", "plain")
    }
    assert gaps["paired"] < 1e-12
    assert gaps["plain"] > 0.01


def paths(strategy: Any, n: int) -> np.ndarray:
    gates = [strategy.sample(CLOCK) for _ in range(n)]
    return np.array([[gate.active[0] for gate in path] for path in gates])


def test_weight_steps_draw_from_the_policy_or_from_its_feasible_part() -> None:
    for draws, support in (("policy", EVERY), ("feasible", FITTING)):
        problem = Problem(FEASIBLE, SPACE.costs, 100, 0)
        strategy = strategy_spec("tabnas", {"weight_draws": draws}).make(problem)
        assert isinstance(strategy, PolicyGradient)
        strategy.policy.logits.copy_(torch.tensor([0.5, 0.0, -0.5, 0.0, 0.3, 0.0]))
        rows = strategy.policy.probabilities()
        weights = np.array([rows[0][a] * rows[1][b] for a, b in support])
        found = paths(strategy, 4000)
        counts = [int((found == p).all(axis=1).sum()) for p in support]
        assert sum(counts) == 4000
        assert stats.chisquare(counts, 4000 * weights / weights.sum()).pvalue > 0.001


def test_few_updates_get_a_larger_rate_and_many_the_papers() -> None:
    assert PACES["tabnas"].rate(10) == 0.1
    assert PACES["tabnas"].rate(10**6) == 0.005
    rates = [PACES["tabnas"].rate(n) for n in (1, 100, 300, 1000, 3000, 10**5)]
    assert rates == sorted(rates, reverse=True)


def test_an_update_learns_from_the_draws_of_all_workers() -> None:
    for name, used in (("tabnas", 24.0), ("advantage", 3.0)):
        strategy = strategy_spec(name).make(Problem(FEASIBLE, SPACE.costs, 100, 0, workers=3))
        rows = torch.randn(30, 2, generator=torch.Generator().manual_seed(0))
        part = Part(rows, rows[:, 0])
        streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
        probe = Probe(SPACE.supernet(0), _square, *streams, part, workers=VirtualWorkers(3))
        learnt = strategy.update(probe, CLOCK)
        assert learnt is not None
        assert learnt.values["used"] == used
        assert probe.passes >= used


def _square(outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    del weights
    return (outputs[:, 0] - target).square().mean()
