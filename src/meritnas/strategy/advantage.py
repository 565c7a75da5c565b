"""AdvantageNAS (Sato et al., 2021): credit for what each chosen option's output did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from meritnas.settings.fields import shown
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import JudgedFinal, WeightDraws, check_policy_rate, drawn

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Advantage(StrategySpec):
    """AdvantageNAS: each choice of a sampled network gets what its own output did.

    The credit `gradient` is the paper's eq. 7, a derivative, which says nothing of an output that
    only convolutions with batch norms read; `exact` is eq. 6, a pass for each decision; `auto` is
    eq. 7, and eq. 6 where eq. 7 vanishes.

    Attributes:
        credit: How what an output did is found.
        final: How the final network is chosen.
        policy_rate: Learning rate of the policy.
        samples: Networks for each policy step.
        weight_draws: Where networks for weight steps come from.
    """

    name: ClassVar[str] = "advantage"

    credit: Literal["auto", "gradient", "exact"] = field(
        default="auto", metadata=shown(metavar="NAME")
    )
    final: JudgedFinal = "argmax"
    policy_rate: float | None = None
    samples: int = field(default=1, metadata=drawn())
    weight_draws: WeightDraws = "feasible"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_policy_rate(self.policy_rate)

    def make(self, problem: Problem) -> Strategy:
        """A policy gradient at its first step."""
        from meritnas.credit import advantage
        from meritnas.credit.edge_advantage import (
            ByGradient,
            EdgeAdvantage,
            Exact,
            ExactWhereBlind,
        )
        from meritnas.policy.laws import feasible_law
        from meritnas.strategy.algorithms.best_seen import BestSeen
        from meritnas.strategy.algorithms.final_choice import judged_choice
        from meritnas.strategy.algorithms.policy_gradient import PATHS_OF_FEW, by_credit

        space = problem.feasible.space
        edges: dict[str, EdgeAdvantage] = {
            "gradient": ByGradient(space),
            "exact": Exact(space),
            "auto": ExactWhereBlind(space, problem.nodes),
        }
        seen = BestSeen()
        return by_credit(
            problem,
            pace="advantage",
            policy_rate=self.policy_rate,
            samples=self.samples,
            weight_draws=self.weight_draws,
            law=feasible_law(problem.feasible),
            credit=advantage.Advantage(problem.feasible, edge=edges[self.credit]),
            choose=judged_choice(problem, self.final, seen),
            seen=seen,
            paths_at_once=PATHS_OF_FEW,
        )
