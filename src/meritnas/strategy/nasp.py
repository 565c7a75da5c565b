"""NASP (Yao et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.strategy.gradient import GradientSpec

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Nasp(GradientSpec):
    """NASP: gradients of all options at the best single network so far."""

    name: ClassVar[str] = "nasp"

    def make(self, problem: Problem) -> Strategy:
        """All options at about one half."""
        from meritnas.strategy.algorithms.darts import INITIAL_SPREAD
        from meritnas.strategy.algorithms.nasp import Proximal
        from meritnas.strategy.algorithms.pace import make_policy

        rng = problem.rng()
        sizes = problem.feasible.space.sizes
        initial = 0.5 + INITIAL_SPREAD * rng.standard_normal(sum(sizes))
        policy = make_policy("nasp", sizes, problem.joint_steps, self.policy_rate, initial)
        return Proximal(policy, problem.feasible, rng)
