"""REINFORCE as AdvantageNAS compares with it: it differs from `advantage` in credit alone."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from meritnas import recurrent_space, tabular_space
from meritnas.clock import Clock
from meritnas.credit.advantage import Advantage as AdvantageCredit
from meritnas.credit.advantage import advantage_gradient
from meritnas.credit.baseline import MovingAverage
from meritnas.credit.credit import score_gradient
from meritnas.credit.whole_reward import WholeReward
from meritnas.errors import UsageError
from meritnas.families.family import Family
from meritnas.policy.laws import Draw
from meritnas.strategy.advantage import Advantage
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.problem import Problem
from meritnas.strategy.reinforce import Reinforce

FAMILIES: dict[str, tuple[Family, dict[str, Any]]] = {
    "one decision": (tabular_space(2, 1, 1, (2, 3, 4)), {}),
    "several": (tabular_space(2, 1, 3, (2, 3, 4)), {}),
    "under a limit": (tabular_space(2, 1, 3, (2, 3, 4)), {"max_params": 40}),
    "under a rule": (recurrent_space(5, 3, 3, 1), {}),
}
STEPS = 60


class Losses:
    """A probe whose losses are random numbers, the same for the same architecture."""

    def valid_batch(self) -> None:
        """No data."""

    def losses(self, picks: np.ndarray, batch: None) -> np.ndarray:
        """[n], between 0 and 1."""
        del batch
        return np.array([np.random.default_rng(row.tolist()).random() for row in picks])

    def dealt(self, work: Any, items: int, width: int) -> np.ndarray:
        """[items, width]."""
        return np.array([work(item) for item in range(items)]).reshape(items, width)


def made(spec: Advantage | Reinforce, name: str) -> PolicyGradient:
    family, limits = FAMILIES[name]
    strategy = spec.make(Problem(family.feasible(**limits), family.costs, STEPS, 5))
    assert isinstance(strategy, PolicyGradient)
    return strategy


def equal_credit(credit: AdvantageCredit, probe: Losses) -> None:
    """Give every option of a draw the whole reward less what is expected: REINFORCE's credit."""
    expected = MovingAverage(0.95)

    def judge(_: Any, batch: None, picks: np.ndarray) -> tuple[float, np.ndarray]:
        loss = float(probe.losses(picks[None, :], batch)[0])
        (signal,) = expected.signals([-loss])
        return loss, np.full(len(picks), signal)

    credit._edge = SimpleNamespace(judge=judge, judges_zeros=False)  # type: ignore[assignment]
    credit._silent = [np.zeros_like(row) for row in credit._silent]


def test_all_options_that_both_have_are_the_same() -> None:
    ours = {field.name: field.default for field in fields(Reinforce)}
    theirs = {field.name: field.default for field in fields(Advantage)}
    assert theirs.pop("credit") == "auto"
    assert {name: ours[name] for name in theirs} == theirs
    assert set(ours) - set(theirs) == {"sampling", "baseline"}


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_not_credit_is_the_same(name: str) -> None:
    ours, theirs = made(Reinforce(), name), made(Advantage(), name)
    assert isinstance(ours.credit, WholeReward)
    assert isinstance(ours.credit.baseline, MovingAverage)
    assert isinstance(theirs.credit, AdvantageCredit)
    assert ours.credit.baseline.decay == theirs.credit._baseline.decay == 0.95
    for part in ("samples", "paths_at_once", "turns"):
        assert getattr(ours, part) == getattr(theirs, part)
    for part in ("law", "weight_law", "choose"):
        assert type(getattr(ours, part)) is type(getattr(theirs, part))
    assert ours.policy._rate == theirs.policy._rate
    assert ours.policy._ascent == theirs.policy._ascent


@pytest.mark.parametrize("name", FAMILIES)
def test_with_equal_credits_the_two_strategies_are_one(name: str) -> None:
    """Draws, paths and logits coincide over a whole search."""
    probe: Any = Losses()
    ours, theirs = made(Reinforce(), name), made(Advantage(), name)
    assert isinstance(theirs.credit, AdvantageCredit)
    equal_credit(theirs.credit, probe)
    for step in range(STEPS):
        clock = Clock(step, STEPS, "joint", step, STEPS)
        assert ours.sample(clock) == theirs.sample(clock)
        ours.update(probe, clock)
        theirs.update(probe, clock)
        torch.testing.assert_close(ours.policy.logits, theirs.policy.logits, rtol=0, atol=1e-9)
    assert float(ours.policy.logits.abs().max()) > 0.1
    assert ours.leader() == theirs.leader()


def test_with_one_decision_and_a_linear_loss_their_mean_updates_are_the_same() -> None:
    """Then what an option did for the reward is the reward, and a baseline leaves the mean."""
    rng = np.random.default_rng(0)
    losses, chances = rng.random(4), rng.dirichlet(np.ones(4))
    picks = [np.array([pick]) for pick in range(4)]
    ours = [
        score_gradient(Draw(pick[None, :], [chances], None), np.array([0.3 - losses[pick[0]]]))
        for pick in picks
    ]
    theirs = [
        advantage_gradient(pick, -losses[pick], [chances], [chances], 0.3 - losses[pick[0]])
        for pick in picks
    ]
    np.testing.assert_allclose(chances @ np.array(ours), chances @ np.array(theirs), atol=1e-12)


def test_a_baseline_of_pairs_needs_two() -> None:
    with pytest.raises(UsageError, match="with baseline 'paired'"):
        Reinforce(baseline="paired")
    assert Reinforce(baseline="paired", samples=2).samples == 2
