"""Regularised evolution (Real et al., 2019) with shared weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from meritnas.errors import UsageError
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import drawn

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class Evolution(StrategySpec):
    """Mutation and crossover within the limit, judged by one-shot loss.

    Attributes:
        population: Size of evolution's population.
        tournament: Size of evolution's tournament.
    """

    name: ClassVar[str] = "evolution"
    believes: ClassVar[bool] = False

    population: int | None = field(default=None, metadata=drawn())
    tournament: int | None = field(default=None, metadata=drawn())

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        if self.population is not None and self.tournament is not None:
            _check_sizes(self.tournament, self.population)

    def make(self, problem: Problem) -> Strategy:
        """A search that has judged nothing."""
        from meritnas.strategy.algorithms.black_box import BlackBox
        from meritnas.strategy.algorithms.evolution import EvolutionProposer

        # A third of the judgements start the population, so that there is something left to evolve.
        size = self.population or min(50, max(4, problem.judgements // 3))
        entrants = self.tournament or max(2, size // 5)
        _check_sizes(entrants, size)
        return BlackBox(problem.feasible, EvolutionProposer(size, entrants), problem.rng())


def _check_sizes(tournament: int, population: int) -> None:
    if tournament > population:
        raise UsageError(
            f"1 <= tournament <= population must hold, got {tournament} and {population}"
        )
