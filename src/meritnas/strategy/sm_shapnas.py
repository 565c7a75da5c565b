"""SM-ShapNAS: Shapley values of grouped options, for several modalities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from meritnas.settings.fields import shown
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import check_above_zero, check_within, drawn

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy

_NORMAL, _SPARSE = 20, 60


@dataclass(frozen=True)
class SmShapley(StrategySpec):
    """SM-ShapNAS: as shapley, with samples by group, after a start by gradients.

    Operations tagged `sparse` have `sparse_samples` permutations, everybody else `normal_samples`,
    on spaces without such tags too; without `grouped` all have their mean, and keep it unless
    `proportional` is asked for. Unless one of the two is given, they are the paper's 60 and 20
    where at least three estimates then take at most about 6 evaluations for each weight step, and
    else fewer, in the same ratio and not below 2; and there are no more estimates than that
    allows. Adam's rate and weight decay are the paper's.

    Attributes:
        normal_samples: Orders for edges and normal operations.
        sparse_samples: Orders for sparse operations.
        step: How far Shapley values move weights.
        gradient_share: Part of the search in which gradients lead.
        grouped: Whether sparse operations get orders of their own.
        proportional: Whether strong operations get more orders.
        both: Gradient steps in every epoch.
        policy_rate: Learning rate of the policy.
        judged_rows: Validation rows that options are judged on.
    """

    name: ClassVar[str] = "sm-shapley"

    normal_samples: int | None = field(default=None, metadata=drawn())
    sparse_samples: int | None = field(default=None, metadata=drawn())
    step: float = 0.1
    gradient_share: float = 1 / 3
    grouped: bool = True
    proportional: bool | None = field(default=None, metadata=shown(usual="as grouped"))
    both: bool = False
    policy_rate: float = 3e-4
    judged_rows: int = field(default=256, metadata=drawn())

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_above_zero("step", self.step)
        check_above_zero("policy_rate", self.policy_rate)
        check_within("gradient_share", self.gradient_share)

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture."""
        from meritnas.policy.policy import Ascent, Policy
        from meritnas.policy.tags import mixable
        from meritnas.strategy.algorithms.darts import INITIAL_SPREAD, Softmax
        from meritnas.strategy.algorithms.grouped import group_samples
        from meritnas.strategy.algorithms.shapley_step import ShapleyStep, blocks_of
        from meritnas.strategy.algorithms.sm_shapley import GroupedMixture

        space = problem.feasible.space
        estimate, most = group_samples(
            problem,
            self._counts(),
            self.judged_rows,
            fits=self.normal_samples is None and self.sparse_samples is None,
            proportional=self.grouped if self.proportional is None else self.proportional,
        )
        tables = problem.tables or (tuple(range(len(space.decisions))),)
        step = ShapleyStep(blocks_of("table", estimate.players.decisions, tables), 0.0, self.step)
        rng = problem.rng()
        initial = INITIAL_SPREAD * rng.standard_normal(sum(space.sizes))
        papers = Ascent(betas=(0.5, 0.999), eps=1e-8, weight_decay=1e-4)
        alpha = Softmax(Policy(space.sizes, self.policy_rate, papers, initial), mixable(space))
        return GroupedMixture(
            problem.feasible,
            estimate,
            step,
            rng,
            alpha,
            warm_share=self.gradient_share,
            both=self.both,
            most_moves=self._most_moves(most),
        )

    def _counts(self) -> tuple[int, int]:
        """Samples of normal and of sparse options."""
        normal = _NORMAL if self.normal_samples is None else self.normal_samples
        sparse = _SPARSE if self.sparse_samples is None else self.sparse_samples
        mean = round((normal + sparse) / 2)
        return (normal, sparse) if self.grouped else (mean, mean)

    def _most_moves(self, estimates: int | None) -> int | None:
        """In how many epochs alpha moves at most, if there are at most so many estimates."""
        warm = 0.0 if self.both else self.gradient_share
        return None if estimates is None or warm == 1 else int(estimates / (1 - warm))
