"""Random search with shared weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.settings.spec import StrategySpec

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Random(StrategySpec):
    """Uniform feasible networks, judged by one-shot loss."""

    name: ClassVar[str] = "random"
    believes: ClassVar[bool] = False

    def make(self, problem: Problem) -> Strategy:
        """A search that has judged nothing."""
        from meritnas.strategy.algorithms.black_box import BlackBox, RandomProposer

        return BlackBox(problem.feasible, RandomProposer(), problem.rng())
