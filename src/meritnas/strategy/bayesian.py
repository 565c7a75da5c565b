"""Bayesian optimisation with shared weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import drawn

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy

_MOST_JUDGEMENTS = 200
"""More of them would make fits slow."""


@dataclass(frozen=True)
class Bayesian(StrategySpec):
    """A Gaussian process with expected improvement over feasible networks, by one-shot loss.

    Attributes:
        initial: Random networks before the Gaussian process.
    """

    name: ClassVar[str] = "bayesian"
    believes: ClassVar[bool] = False

    initial: int | None = field(default=None, metadata=drawn(least=2))

    def make(self, problem: Problem) -> Strategy:
        """A search that has judged nothing."""
        from meritnas.strategy.algorithms.bayesian import BayesianProposer
        from meritnas.strategy.algorithms.black_box import BlackBox
        from meritnas.strategy.turns import Turns

        proposer = BayesianProposer(self.initial or min(20, max(4, problem.judgements // 3)))
        turns = Turns("frozen", most=_MOST_JUDGEMENTS)
        return BlackBox(problem.feasible, proposer, problem.rng(), turns=turns)
