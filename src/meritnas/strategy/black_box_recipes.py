from __future__ import annotations

from meritnas.errors import UsageError, whole_number
from meritnas.strategy.algorithms.bayesian import BayesianProposer
from meritnas.strategy.algorithms.black_box import BlackBox, Proposer, RandomProposer
from meritnas.strategy.algorithms.evolution import EvolutionProposer
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy
from meritnas.strategy.turns import Turns


def random(problem: Problem) -> Strategy:
    """Uniform feasible networks, judged by one-shot loss."""
    return _black_box(problem, RandomProposer())


def evolution(
    problem: Problem, *, population: int | None = None, tournament: int | None = None
) -> Strategy:
    """Mutation and crossover within the limit, judged by one-shot loss."""
    # A third of the judgements start the population, so that there is something left to evolve.
    size = min(50, max(4, problem.judgements // 3)) if population is None else population
    entrants = max(2, size // 5) if tournament is None else tournament
    size, entrants = whole_number("population", size, 1), whole_number("tournament", entrants, 1)
    if entrants > size:
        raise UsageError(f"1 <= tournament <= population must hold, got {entrants} and {size}")
    return _black_box(problem, EvolutionProposer(size, entrants))


def bayesian(problem: Problem, *, initial: int | None = None) -> Strategy:
    """A Gaussian process with expected improvement over feasible networks, by one-shot loss."""
    first = min(20, max(4, problem.judgements // 3)) if initial is None else initial
    proposer = BayesianProposer(whole_number("initial", first, 2))
    return BlackBox(problem.feasible, proposer, problem.rng(), turns=Turns("frozen", most=200))


def _black_box(problem: Problem, proposer: Proposer) -> Strategy:
    return BlackBox(problem.feasible, proposer, problem.rng())
