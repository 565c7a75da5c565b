from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from scipy import stats

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.policy.laws import Conditional, Draw
from meritnas.policy.policy import Policy
from meritnas.strategy.policy_gradient import PolicyGradient, score_gradient
from meritnas.strategy.recipes import Problem, default_policy_rate, make_strategy

SPACE = tabular_space(2, 1, 2, (2, 3, 4))
FEASIBLE = SPACE.feasible(max_params=25)
EVERY = list(itertools.product(range(3), repeat=2))
FITTING = [p for p in EVERY if SPACE.cost(SPACE.space.architecture(p)) <= 25]
CLOCK = Clock(0, 100, "joint", 0, 100)


def test_a_gradient_is_the_mean_of_signal_times_onehot_minus_center() -> None:
    center = [np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.4])]
    drawn = Draw(np.array([[0, 1], [2, 0], [0, 0]]), center, None)
    found = score_gradient(drawn, [1.0, -2.0, 0.5])
    expected = np.zeros(5)
    for (a, b), signal in zip(drawn.picks, [1.0, -2.0, 0.5], strict=True):
        onehot = np.concatenate([np.eye(3)[a], np.eye(2)[b]])
        expected += signal * (onehot - np.concatenate(center)) / 3
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
            * score_gradient(Draw(np.array([p]), center, None), [rewards[p] - baseline])
            for p, chance in zip(FITTING, chances.detach(), strict=True)
        )
        np.testing.assert_allclose(found, exact.numpy(), atol=1e-12)


def paths(strategy: Any, n: int) -> np.ndarray:
    gates = [strategy.sample(CLOCK) for _ in range(n)]
    return np.array([[gate.active[0] for gate in path] for path in gates])


def test_weight_steps_draw_from_the_policy_or_from_its_feasible_part() -> None:
    for draws, support in (("policy", EVERY), ("feasible", FITTING)):
        problem = Problem(FEASIBLE, SPACE.costs, 100, 0)
        strategy = make_strategy("tabnas", problem, {"weight_draws": draws})
        assert isinstance(strategy, PolicyGradient)
        strategy.policy.logits.copy_(torch.tensor([0.5, 0.0, -0.5, 0.0, 0.3, 0.0]))
        rows = strategy.policy.probabilities()
        weights = np.array([rows[0][a] * rows[1][b] for a, b in support])
        found = paths(strategy, 4000)
        counts = [int((found == p).all(axis=1).sum()) for p in support]
        assert sum(counts) == 4000
        assert stats.chisquare(counts, 4000 * weights / weights.sum()).pvalue > 0.001


def test_few_updates_get_a_larger_rate_and_many_the_papers() -> None:
    assert default_policy_rate(10) == 0.1
    assert default_policy_rate(10**6) == 0.005
    rates = [default_policy_rate(n) for n in (1, 100, 300, 1000, 3000, 10**5)]
    assert rates == sorted(rates, reverse=True)
