"""Rewards that aim at a limit: TuNAS (Bender et al., 2020) and MnasNet (Tan et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, ClassVar

from meritnas.errors import UsageError
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import (
    Baseline,
    WeightDraws,
    check_policy_rate,
    check_samples,
    drawn,
)

if TYPE_CHECKING:
    from meritnas.cost.terms import Cost
    from meritnas.credit.reward import Reward
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy

_STRONGEST = -100.0
"""Nothing but cost counts with less."""


@dataclass(frozen=True)
class SoftReward(StrategySpec):
    """REINFORCE whose reward knows what a network costs, and whose draws keep no limit.

    Attributes:
        beta: Strength of the penalty, below 0.
        policy_rate: Learning rate of the policy.
        samples: Networks for each policy step.
        weight_draws: Where networks for weight steps come from.
        baseline: What rewards are compared with.
    """

    beta: float = -0.07
    policy_rate: float | None = None
    samples: int | None = field(default=None, metadata=drawn(least=None))
    weight_draws: WeightDraws = "policy"
    baseline: Baseline = "average"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        if not -inf < self.beta < 0:
            raise UsageError(
                f"beta must be below 0 and finite, to make cost count, got {self.beta}"
            )
        if self.beta < _STRONGEST:
            raise UsageError(f"beta must be at least {_STRONGEST:g}, got {self.beta:g}")
        check_policy_rate(self.policy_rate)
        check_samples(self.samples, self.baseline)

    def reward(self, cost: Cost, target: int) -> Reward:
        """What a network is worth that should cost this."""
        raise NotImplementedError

    def make(self, problem: Problem) -> Strategy:
        """A policy gradient at its first step."""
        from meritnas.policy.laws import valid_law
        from meritnas.strategy.algorithms.final_choice import Mode, counted_cost
        from meritnas.strategy.algorithms.policy_gradient import by_reward

        feasible = problem.feasible
        if not feasible.limits:
            raise UsageError(
                f"strategy '{self.name}' needs a limit to aim at; give one with --max-params"
            )
        reward = self.reward(counted_cost(problem), feasible.limits[0].maximum)
        return by_reward(problem, self, valid_law(feasible), reward, Mode())


@dataclass(frozen=True)
class AbsReward(SoftReward):
    """TuNAS' reward, with a penalty for any distance from the limit."""

    name: ClassVar[str] = "abs-reward"

    beta: float = -1.0

    def reward(self, cost: Cost, target: int) -> Reward:
        """Q + beta * |T / T0 - 1|."""
        from meritnas.credit import reward

        return reward.AbsReward(cost, target, self.beta)


@dataclass(frozen=True)
class Mnasnet(SoftReward):
    """MnasNet's reward, scaled by the cost relative to the limit."""

    name: ClassVar[str] = "mnasnet"

    def reward(self, cost: Cost, target: int) -> Reward:
        """Q * (T / T0) ** beta."""
        from meritnas.credit.reward import MnasNetReward

        return MnasNetReward(cost, target, self.beta)


@dataclass(frozen=True)
class MnasnetMax(SoftReward):
    """MnasNet's reward, scaled only above the limit."""

    name: ClassVar[str] = "mnasnet-max"

    def reward(self, cost: Cost, target: int) -> Reward:
        """Q * max(1, T / T0) ** beta."""
        from meritnas.credit.reward import MnasNetMaxReward

        return MnasNetMaxReward(cost, target, self.beta)
