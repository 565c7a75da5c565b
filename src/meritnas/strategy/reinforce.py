"""REINFORCE (Williams, 1992) on a supernet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from meritnas.settings.fields import shown
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import (
    Baseline,
    JudgedFinal,
    WeightDraws,
    check_policy_rate,
    check_samples,
    drawn,
)

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Reinforce(StrategySpec):
    """REINFORCE: every choice of a sampled network gets its whole reward.

    With sampling `unrestricted` it learns nothing of a limit; only its final choice keeps it.

    Attributes:
        sampling: How networks are drawn: conditional or unrestricted.
        final: How the final network is chosen.
        policy_rate: Learning rate of the policy.
        samples: Networks for each policy step.
        weight_draws: Where networks for weight steps come from.
        baseline: What rewards are compared with.
    """

    name: ClassVar[str] = "reinforce"

    sampling: Literal["conditional", "unrestricted"] = field(
        default="conditional", metadata=shown(metavar="LAW")
    )
    final: JudgedFinal = "argmax"
    policy_rate: float | None = None
    samples: int | None = field(default=None, metadata=drawn(least=None))
    weight_draws: WeightDraws = "feasible"
    baseline: Baseline = "average"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_policy_rate(self.policy_rate)
        check_samples(self.samples, self.baseline)

    def make(self, problem: Problem) -> Strategy:
        """A policy gradient at its first step."""
        from meritnas.credit.reward import Quality
        from meritnas.policy.laws import feasible_law, valid_law
        from meritnas.strategy.algorithms.best_seen import BestSeen
        from meritnas.strategy.algorithms.final_choice import judged_choice
        from meritnas.strategy.algorithms.policy_gradient import by_reward

        make_law = feasible_law if self.sampling == "conditional" else valid_law
        seen = BestSeen()
        choose = judged_choice(problem, self.final, seen)
        return by_reward(problem, self, make_law(problem.feasible), Quality(), choose, seen)
