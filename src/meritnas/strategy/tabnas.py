"""TabNAS (Yang et al., 2022): REINFORCE that is corrected for a hard limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from meritnas.errors import UsageError
from meritnas.settings.fields import shown
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import (
    Baseline,
    WeightDraws,
    check_policy_rate,
    check_samples,
    drawn,
)

if TYPE_CHECKING:
    from meritnas.policy.laws import Law
    from meritnas.strategy.algorithms.final_choice import FinalChoice
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy

_MC_SAMPLES, _MOST_MC_SAMPLES = 3072, 10_000_000
"""Of the paper's three layers, and more than its nine layers have (5,000,000)."""


@dataclass(frozen=True)
class Tabnas(StrategySpec):
    """TabNAS: reward of sampled networks, corrected for a hard limit.

    Attributes:
        sampling: How networks are drawn: conditional, rejection, monte-carlo or uncorrected.
        mc_samples: Samples of monte-carlo.
        final: How the final network is chosen.
        policy_rate: Learning rate of the policy.
        samples: Networks for each policy step.
        weight_draws: Where networks for weight steps come from.
        baseline: What rewards are compared with.
    """

    name: ClassVar[str] = "tabnas"

    sampling: Literal["conditional", "rejection", "monte-carlo", "uncorrected"] = field(
        default="conditional", metadata=shown(metavar="LAW")
    )
    mc_samples: int | None = field(default=None, metadata=drawn(most=_MOST_MC_SAMPLES))
    final: Literal["ranked", "largest", "mode"] = "ranked"
    policy_rate: float | None = None
    samples: int | None = field(default=None, metadata=drawn(least=None))
    weight_draws: WeightDraws = "policy"
    baseline: Baseline = "average"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        if self.mc_samples is not None and self.sampling != "monte-carlo":
            raise UsageError(
                f"mc_samples goes with sampling 'monte-carlo', got sampling '{self.sampling}'"
            )
        check_policy_rate(self.policy_rate)
        check_samples(self.samples, self.baseline)

    def make(self, problem: Problem) -> Strategy:
        """A policy gradient at its first step."""
        from meritnas.credit.reward import Quality
        from meritnas.strategy.algorithms.policy_gradient import by_reward

        return by_reward(problem, self, self._law(problem), Quality(), self._choice(problem))

    def _law(self, problem: Problem) -> Law:
        from meritnas.policy import laws

        feasible = problem.feasible
        if self.sampling == "rejection" and not feasible.exact:
            raise UsageError(
                f"sampling 'rejection' needs an exact feasible set, but here {feasible.note}; "
                "use 'conditional'"
            )
        known: dict[str, Law] = {
            "conditional": laws.Conditional(feasible),
            "rejection": laws.Rejection(feasible),
            "monte-carlo": laws.MonteCarloRejection(feasible, self.mc_samples or _MC_SAMPLES),
            "uncorrected": laws.Uncorrected(feasible),
        }
        return known[self.sampling]

    def _choice(self, problem: Problem) -> FinalChoice:
        from meritnas.strategy.algorithms.final_choice import Largest, Mode, Ranked, counted_cost

        if self.final == "mode":
            return Mode()
        largest = Largest(counted_cost(problem))
        return largest if self.final == "largest" else Ranked(largest)
