"""ProxylessNAS (Cai et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.strategy.gradient import GradientSpec

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Proxyless(GradientSpec):
    """ProxylessNAS: two options of each choice at once, one of which counts."""

    name: ClassVar[str] = "proxyless"

    def make(self, problem: Problem) -> Strategy:
        """A policy to which all options are equal."""
        from meritnas.strategy.algorithms.pace import make_policy
        from meritnas.strategy.algorithms.proxyless import TwoPaths

        sizes = problem.feasible.space.sizes
        policy = make_policy("proxyless", sizes, problem.joint_steps, self.policy_rate)
        return TwoPaths(policy, problem.feasible, problem.rng())
