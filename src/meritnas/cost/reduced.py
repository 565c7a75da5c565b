"""Costs rewritten so that the cheapest completion of a partial architecture costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meritnas.cost.terms import CostTerms
from meritnas.space.rule import Levels


@dataclass(frozen=True)
class ReducedCost:
    """A cost and its limit, rewritten so that the cheapest way on always costs nothing.

    With H_i(b) the cost of the cheapest completion after option b at decision i, a step a -> b
    costs t'(a, b) = t(a, b) + H_i(b) - H_{i-1}(a) >= 0, and an architecture fits exactly when its
    reduced steps sum to at most slack = limit - cheapest cost. Everything is an integer, divided
    by the common divisor of all steps.

    Attributes:
        steps: for each decision [options before (1 for the first), options], all >= 0.
        slack: what the steps may sum to.
        most_ahead: for each decision [options]: the most that the steps after it can sum to.
        grid: how much of the original cost one unit stands for.
        missed: an architecture whose cost is at most limit - missed is certainly counted as
            fitting; 0 means that the rewriting is exact.
    """

    steps: tuple[np.ndarray, ...]
    slack: int
    most_ahead: tuple[np.ndarray, ...]
    grid: int
    missed: int

    @property
    def tightness(self) -> float:
        """Slack over the most that could be spent: small means a tight limit."""
        most = int((self.steps[0][0] + self.most_ahead[0]).max())
        return self.slack / most if most else math.inf

    def coarser(self, factor: int) -> ReducedCost:
        """The same limit on a grid `factor` times coarser, rounded so that it is never broken."""
        steps = tuple(-(-step // factor) for step in self.steps)
        missed = self.missed + (len(steps) + 1) * (factor - 1) * self.grid
        return _with_most_ahead(steps, self.slack // factor, self.grid * factor, missed)


def cheapest(terms: CostTerms, levels: Levels | None = None) -> tuple[int, tuple[int, ...]]:
    """The smallest cost of any architecture that keeps a space's rule, and its picks."""
    steps = terms.steps()
    if levels is None:
        levels = tuple(np.zeros((1, step.shape[1]), dtype=np.int64) for step in steps)
    # [states, options before]: the cheapest way on; what is forbidden costs more than anything,
    # even after steps of a cost below zero.
    never = 1 + 2 * sum(int(np.abs(step).max()) for step in steps)
    ahead = np.full((len(levels[0]), steps[-1].shape[1]), never)
    ahead[0] = 0
    choices = []
    for step, level in zip(reversed(steps), reversed(levels), strict=True):
        options = np.arange(step.shape[1])
        rest = np.where(level >= 0, ahead[level, options], never)  # [states, options]
        sums = step[None, :, :] + rest[:, None, :]  # [states, options before, options]
        choices.append(sums.argmin(axis=2))
        ahead = sums.min(axis=2)
    state, before, picks = 0, 0, []
    for choice, level in zip(reversed(choices), levels, strict=True):
        before = int(choice[state, before])
        picks.append(before)
        state = int(level[state, before])
    return int(ahead[0, 0]), tuple(picks)


def reduce_cost(terms: CostTerms, maximum: int) -> ReducedCost:
    """Rewrite a cost and its limit; the limit must be at least the cheapest cost."""
    steps = terms.steps()
    ahead = _cheapest_ahead(steps)
    least = int((steps[0][0] + ahead[0]).min())
    reduced = []
    for i, step in enumerate(steps):
        before = np.array([least]) if i == 0 else ahead[i - 1]
        reduced.append(step + ahead[i][None, :] - before[:, None])
    divisor = int(np.gcd.reduce(np.concatenate([step.ravel() for step in reduced]))) or 1
    units = tuple(step // divisor for step in reduced)
    return _with_most_ahead(units, (maximum - least) // divisor, divisor, 0)


def _cheapest_ahead(steps: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """H_i: for each decision [options] the cheapest sum of all later steps."""
    ahead = [np.zeros(steps[-1].shape[1], dtype=np.int64)]
    for step in reversed(steps[1:]):
        ahead.insert(0, (step + ahead[0][None, :]).min(axis=1))
    return ahead


def _with_most_ahead(
    steps: tuple[np.ndarray, ...], slack: int, grid: int, missed: int
) -> ReducedCost:
    most = [np.zeros(steps[-1].shape[1], dtype=np.int64)]
    for step in reversed(steps[1:]):
        most.insert(0, (step + most[0][None, :]).max(axis=1))
    # More slack than can be spent is no information, and might not fit into 64 bits.
    spendable = int((steps[0][0] + most[0]).max())
    return ReducedCost(steps, min(slack, spendable), tuple(most), grid, missed)
