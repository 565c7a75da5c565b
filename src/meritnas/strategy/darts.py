"""DARTS (Liu et al., 2019), first and second order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.strategy.gradient import GradientSpec

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class DartsGradient(GradientSpec):
    """DARTS: all options at once, weighted by a softmax that learns by gradient."""

    name: ClassVar[str] = "darts"

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture."""
        from meritnas.strategy.algorithms.darts import softmax_weights
        from meritnas.strategy.algorithms.dense import Dense

        options = softmax_weights(problem, "darts", self.policy_rate, problem.rng())
        return Dense(problem.feasible, options)


@dataclass(frozen=True)
class DartsSecondOrder(GradientSpec):
    """DARTS that looks one step of the weights ahead; four passes a step."""

    name: ClassVar[str] = "darts-2nd"

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture."""
        from meritnas.strategy.algorithms.darts import Unrolled, softmax_weights
        from meritnas.strategy.algorithms.dense import Dense

        options = softmax_weights(problem, "darts", self.policy_rate, problem.rng())
        return Dense(problem.feasible, options, Unrolled(problem.weight_rate))
