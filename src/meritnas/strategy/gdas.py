"""GDAS (Dong and Yang, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import JudgedFinal, check_policy_rate

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Gdas(StrategySpec):
    """GDAS: one sampled network, whose gradient goes through a soft draw.

    Attributes:
        final: How the final network is chosen.
        policy_rate: Learning rate of the policy.
    """

    name: ClassVar[str] = "gdas"

    final: JudgedFinal = "argmax"
    policy_rate: float | None = None

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_policy_rate(self.policy_rate)

    def make(self, problem: Problem) -> Strategy:
        """A policy to which all options are equal."""
        from meritnas.strategy.algorithms.best_seen import BestSeen
        from meritnas.strategy.algorithms.final_choice import judged_choice
        from meritnas.strategy.algorithms.gdas import GumbelPath
        from meritnas.strategy.algorithms.pace import make_policy

        seen = BestSeen()
        sizes = problem.feasible.space.sizes
        policy = make_policy("gdas", sizes, problem.joint_steps, self.policy_rate)
        choose = judged_choice(problem, self.final, seen)
        return GumbelPath(policy, problem.feasible, problem.rng(), choose, seen=seen)
