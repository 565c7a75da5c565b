"""REINFORCE (Williams, 1992) on a supernet, as AdvantageNAS compares with it."""

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

    As AdvantageNAS compares with it (section 5.1 and appendix C): but for what a choice gets, all
    is as with `advantage`. Rewards are compared with their moving average, of decay 0.95.

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
    samples: int = field(default=1, metadata=drawn(least=None))
    weight_draws: WeightDraws = "feasible"
    baseline: Baseline = "average"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_policy_rate(self.policy_rate)
        check_samples(self.samples, self.baseline)

    def make(self, problem: Problem) -> Strategy:
        """A policy gradient at its first step."""
        from meritnas.credit.advantage import DECAY
        from meritnas.credit.baseline import MovingAverage, Paired
        from meritnas.credit.whole_reward import WholeReward
        from meritnas.policy.laws import feasible_law, valid_law
        from meritnas.strategy.algorithms.best_seen import BestSeen
        from meritnas.strategy.algorithms.final_choice import judged_choice
        from meritnas.strategy.algorithms.policy_gradient import PATHS_OF_FEW, by_credit

        make_law = feasible_law if self.sampling == "conditional" else valid_law
        baseline = Paired() if self.baseline == "paired" else MovingAverage(1.0 - DECAY)
        seen = BestSeen()
        return by_credit(
            problem,
            pace="advantage",
            policy_rate=self.policy_rate,
            samples=self.samples,
            weight_draws=self.weight_draws,
            law=make_law(problem.feasible),
            credit=WholeReward(baseline=baseline),
            choose=judged_choice(problem, self.final, seen),
            seen=seen,
            paths_at_once=PATHS_OF_FEW,
        )
