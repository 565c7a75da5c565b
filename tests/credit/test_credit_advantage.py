from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit, chain_terms
from meritnas.credit.advantage import Advantage, advantage_gradient
from meritnas.policy.laws import Draw, feasible_law
from meritnas.policy.neighbours import fitting_options, restricted
from meritnas.policy.policy import Policy
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import PresentEdges
from meritnas.space.space import HyphenText, Space

EDGES, OPTIONS = 3, 3
EVERY = np.array(list(itertools.product(range(OPTIONS), repeat=EDGES)))
RNG = np.random.default_rng(7)
LOGITS = RNG.normal(size=(EDGES, OPTIONS))
MU = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
REWARDS = RNG.normal(size=(OPTIONS + 1,) * EDGES)
"""A reward for every architecture; the last index of an edge stands for an output of zero."""


def space(absent: bool = False) -> Space:
    tags = frozenset({"absent"}) if absent else frozenset()
    options = (Option("a", tags), Option("b"), Option("c"))
    decisions = tuple(Decision(f"e{i}", options) for i in range(EDGES))
    return Space(decisions, HyphenText(), PresentEdges((EDGES,), 2) if absent else None)


def limited(limit: int | None, absent: bool = False) -> FeasibleSet:
    costs = (np.array([0, 1, 3]), np.array([2, 0, 1]), np.array([1, 2, 0]))
    terms = chain_terms(0, costs, (None, None), "things")
    limits = () if limit is None else (Limit("things", limit),)
    return FeasibleSet(space(absent), {"things": terms}, limits)


def advantages(picks: np.ndarray, rewards: np.ndarray = REWARDS) -> np.ndarray:
    """Equation 6: what the reward loses when an edge's output becomes zero."""
    found = []
    for i in range(EDGES):
        without = picks.copy()
        without[i] = OPTIONS
        found.append(rewards[tuple(picks)] - rewards[tuple(without)])
    return np.array(found)


def gradient_of_mean_reward(members: np.ndarray) -> np.ndarray:
    """By autograd: of E[r | V] with respect to the logits."""
    logits = torch.tensor(LOGITS, requires_grad=True)
    scores = torch.stack([sum(logits[i, k] for i, k in enumerate(row)) for row in members])
    rewards = torch.tensor([REWARDS[tuple(row)] for row in members])
    (found,) = torch.autograd.grad(scores.softmax(0) @ rewards, logits)
    return np.asarray(found.ravel())


def chances(members: np.ndarray) -> np.ndarray:
    weights = np.array([np.prod([MU[i, k] for i, k in enumerate(row)]) for row in members])
    return np.asarray(weights / weights.sum())


def test_the_advantage_gradient_is_unbiased_for_any_rewards() -> None:
    mu = list(MU)
    found = sum(
        chance * advantage_gradient(picks, advantages(picks), mu, mu, signal=3.0)
        for picks, chance in zip(EVERY, chances(EVERY), strict=True)
    )
    np.testing.assert_allclose(found, gradient_of_mean_reward(EVERY), atol=1e-14)


def test_for_linear_rewards_the_gate_gradient_is_the_advantage() -> None:
    worth = torch.tensor(RNG.normal(size=(EDGES, OPTIONS)))
    table = np.zeros((OPTIONS + 1,) * EDGES)
    for index in itertools.product(range(OPTIONS + 1), repeat=EDGES):
        table[index] = sum(float(worth[i, k]) for i, k in enumerate(index) if k < OPTIONS)
    for picks in EVERY:
        gates = torch.eye(OPTIONS, dtype=torch.float64)[picks].requires_grad_()
        (slopes,) = torch.autograd.grad((worth * gates).sum(), gates)
        linear = slopes[np.arange(EDGES), picks].numpy()
        np.testing.assert_allclose(linear, advantages(picks, table), atol=1e-12)


@pytest.mark.parametrize(("limit", "absent"), [(4, False), (None, True), (5, True)])
def test_within_limits_and_rules_the_gradient_is_that_of_the_mean_given_feasibility(
    limit: int | None, absent: bool
) -> None:
    feasible = limited(limit, absent)
    members = EVERY[feasible.contains(EVERY)]
    assert 3 < len(members) < len(EVERY)
    exact = gradient_of_mean_reward(members)
    marginals = feasible.marginals(list(LOGITS))
    for baseline in (0.0, -2.0):
        total, naive = np.zeros(EDGES * OPTIONS), np.zeros(EDGES * OPTIONS)
        for picks, chance in zip(members, chances(members), strict=True):
            own = restricted(list(MU), fitting_options(picks, feasible))
            signal = REWARDS[tuple(picks)] - baseline
            each = advantages(picks)
            total += chance * advantage_gradient(picks, each, own, marginals, signal)
            naive += chance * advantage_gradient(picks, each, marginals, marginals, signal)
        np.testing.assert_allclose(total, exact, atol=1e-13)
        assert np.abs(naive - exact).max() > 0.01


def test_rows_of_a_gradient_sum_to_zero() -> None:
    feasible = limited(4)
    marginals = feasible.marginals(list(LOGITS))
    for picks in EVERY[feasible.contains(EVERY)]:
        own = restricted(list(MU), fitting_options(picks, feasible))
        found = advantage_gradient(picks, advantages(picks), own, marginals, 0.7)
        np.testing.assert_allclose(found.reshape(EDGES, OPTIONS).sum(axis=1), 0.0, atol=1e-12)


def test_second_moments_are_as_computed_by_hand() -> None:
    worth = RNG.normal(size=(EDGES, OPTIONS))
    worth[1:] -= (MU[1:] * worth[1:]).sum(axis=1, keepdims=True)  # other edges are 0 on average
    mu = list(MU)
    credited = whole = 0.0
    for picks, chance in zip(EVERY, chances(EVERY), strict=True):
        each = worth[np.arange(EDGES), picks]
        first = advantage_gradient(picks, each, mu, mu, 0.0)[:OPTIONS]
        reward = advantage_gradient(picks, np.full(EDGES, each.sum()), mu, mu, 0.0)[:OPTIONS]
        credited += chance * float(first @ first)
        whole += chance * float(reward @ reward)
    norm = float(MU[0] @ MU[0])
    assert credited == pytest.approx(float((MU[0] * worth[0] ** 2 * (1 - 2 * MU[0] + norm)).sum()))
    others = float((MU[1:] * worth[1:] ** 2).sum())
    assert whole - credited == pytest.approx((1 - norm) * others)


class TellingProbe:
    """A probe that answers each question with the next given loss and gate gradients."""

    def __init__(self, *answers: tuple[float, list[float]]) -> None:
        self.answers = list(answers)

    def dealt(self, work: Any, items: int, width: int) -> np.ndarray:
        return np.array([work(item) for item in range(items)]).reshape(items, width)

    def whole_gradients(
        self, gates: Any, batch: Any, leaves: Any
    ) -> tuple[float, list[torch.Tensor]]:
        del batch
        loss, slopes = self.answers.pop(0)
        found = [torch.zeros_like(leaf) for leaf in leaves]
        for gate, row, slope in zip(gates, found, slopes, strict=True):
            assert gate.weights[gate.active[0]] == 1.0
            row[gate.active[0]] = slope
        return loss, found


def test_a_zero_option_gets_the_worst_average_of_the_others() -> None:
    options = (Option("zero", frozenset({"zero"})), Option("b"), Option("c"))
    feasible = FeasibleSet(Space((Decision("edge", options),), HyphenText()), {})
    credit = Advantage(feasible, decay=0.1)
    policy = Policy((3,), 0.1)
    center = policy.probabilities()

    def step(pick: int, slope: float) -> np.ndarray:
        probe: Any = TellingProbe((1.0, [slope]))
        drawn = Draw(np.array([[pick]]), center, None)
        return credit.assign(probe, None, drawn, policy).gradient  # type: ignore[arg-type]

    third = np.full(3, 1 / 3)
    np.testing.assert_allclose(step(1, -2.0), 2.0 * (np.eye(3)[1] - third))  # EMA(b) = .2
    np.testing.assert_allclose(step(0, 0.0), 0.0, atol=1e-15)  # c was not seen: its EMA is 0
    step(2, -5.0)  # EMA(c) = .5
    np.testing.assert_allclose(step(0, 0.0), 0.2 * (np.eye(3)[0] - third))
    step(1, 4.0)  # EMA(b) = .2 + .1 * (-4 - .2) = -.22
    np.testing.assert_allclose(step(0, 0.0), -0.22 * (np.eye(3)[0] - third))
    saved = credit.state_dict()
    assert saved["averages"][0] == pytest.approx([0.0, -0.22, 0.5])
    other = Advantage(feasible, decay=0.1)
    other.load_state_dict(saved)
    assert other.state_dict() == saved


def test_a_limited_step_is_the_formula_with_a_debiased_baseline() -> None:
    feasible = limited(4)
    policy = Policy((3, 3, 3), 0.1, initial=LOGITS.ravel())
    credit = Advantage(feasible)
    rng = np.random.default_rng(0)
    law = feasible_law(feasible)
    signals = []
    for loss in (2.0, 1.0):
        drawn = law.draw(policy, 1, rng)
        probe: Any = TellingProbe((loss, [0.5, -1.0, 0.25]))
        found = credit.assign(probe, None, drawn, policy)  # type: ignore[arg-type]
        own = restricted(list(MU), fitting_options(drawn.picks[0], feasible))
        signals.append(0.0 if loss == 2.0 else 1.0)  # first none, then -1 against -2
        expected = advantage_gradient(
            drawn.picks[0], np.array([-0.5, 1.0, -0.25]), own, drawn.center, signals[-1]
        )
        np.testing.assert_allclose(found.gradient, expected, atol=1e-12)
        assert found.losses.tolist() == [loss]
        assert found.values["reward"] == 1.0 - loss
