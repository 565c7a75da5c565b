"""SNAS (Xie et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.strategy.gradient import GradientSpec

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Snas(GradientSpec):
    """SNAS: all options at once, weighted by soft draws that harden."""

    name: ClassVar[str] = "snas"

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture, softly drawn."""
        from meritnas.strategy.algorithms.darts import softmax_weights
        from meritnas.strategy.algorithms.dense import Dense
        from meritnas.strategy.algorithms.snas import Concrete

        rng = problem.rng()
        options = softmax_weights(problem, "snas", self.policy_rate, rng)
        return Dense(problem.feasible, Concrete(options, rng))
