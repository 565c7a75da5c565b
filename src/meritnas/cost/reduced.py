"""Costs rewritten so that the cheapest completion of a partial architecture costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meritnas.cost.reading import Reading, best_reading
from meritnas.cost.terms import CostTerms
from meritnas.space.space import Space

Tables = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class ReducedCost:
    """A cost and its limit, rewritten so that the cheapest way on always costs nothing.

    With H_i(c) the cost of the cheapest completion from context c after level i, a step from a to b
    costs t'(a, b) = t(a, b) + H_i(b) - H_{i-1}(a) >= 0, and an architecture fits exactly when its
    reduced steps sum to at most slack = limit - cheapest cost. Everything is an integer, divided
    by the common divisor of all steps.

    Attributes:
        steps: for each level [contexts before (1 for the first), options], all >= 0.
        slack: what the steps may sum to.
        most_ahead: for each level [contexts after]: the most that later steps can sum to.
        nexts: for each level [contexts before, options]: the context after.
        grid: how much of the original cost one unit stands for.
        missed: an architecture whose cost is at most limit - missed is certainly counted as
            fitting; 0 means that the rewriting is exact.
    """

    steps: Tables
    slack: int
    most_ahead: Tables
    nexts: Tables
    grid: int
    missed: int

    @property
    def tightness(self) -> float:
        """Slack over the most that could be spent: small means a tight limit."""
        most = int((self.steps[0] + self.most_ahead[0][self.nexts[0]]).max())
        return self.slack / most if most else math.inf

    def coarser(self, factor: int) -> ReducedCost:
        """The same limit on a grid `factor` times coarser, rounded so that it is never broken."""
        steps = tuple(-(-step // factor) for step in self.steps)
        missed = self.missed + (len(steps) + 1) * (factor - 1) * self.grid
        return _with_most_ahead(steps, self.nexts, self.slack // factor, self.grid * factor, missed)


def cheapest(terms: CostTerms, space: Space | None = None) -> tuple[int, tuple[int, ...]]:
    """The smallest cost of any architecture that keeps a space's rule, and its picks."""
    if space is None or space.levels is None:
        reading = best_reading([terms], terms.sizes)
        levels = tuple(np.zeros((1, terms.sizes[i]), dtype=np.int64) for i in reading.order)
    else:
        reading = Reading.of([terms], terms.sizes, space.order)
        levels = space.levels
    steps, nexts = reading.steps(terms), reading.nexts
    # [states, contexts]: the cheapest way on; what is forbidden costs more than anything, even
    # after steps of a cost below zero.
    never = 1 + 2 * sum(int(np.abs(step).max()) for step in steps)
    ahead = np.full((len(levels[0]), 1), never)
    ahead[0] = 0
    choices = []
    for step, after, level in zip(reversed(steps), reversed(nexts), reversed(levels), strict=True):
        rest = ahead[level[:, None, :], after[None, :, :]]  # [states, contexts, options]
        sums = step[None] + np.where(level[:, None, :] >= 0, rest, never)
        choices.append(sums.argmin(axis=2))
        ahead = sums.min(axis=2)
    state, context, picks = 0, 0, [0] * len(steps)
    for number, choice, after, level in zip(
        reading.order, reversed(choices), nexts, levels, strict=True
    ):
        pick = int(choice[state, context])
        picks[number] = pick
        state, context = int(level[state, pick]), int(after[context, pick])
    return int(ahead[0, 0]), tuple(picks)


def reduce_cost(terms: CostTerms, maximum: int, reading: Reading) -> ReducedCost:
    """Rewrite a cost and its limit; the limit must be at least the cheapest cost."""
    steps, nexts = reading.steps(terms), reading.nexts
    ahead = _ahead(steps, nexts, np.min)
    least = int((steps[0] + ahead[0][nexts[0]]).min())
    reduced = []
    for i, step in enumerate(steps):
        before = np.array([least]) if i == 0 else ahead[i - 1]
        reduced.append(step + ahead[i][nexts[i]] - before[:, None])
    divisor = int(np.gcd.reduce(np.concatenate([step.ravel() for step in reduced]))) or 1
    units = tuple(step // divisor for step in reduced)
    return _with_most_ahead(units, nexts, (maximum - least) // divisor, divisor, 0)


def _ahead(steps: Tables, nexts: Tables, best: Callable[..., np.ndarray]) -> list[np.ndarray]:
    """For each level [contexts after]: the smallest or largest sum of all later steps."""
    ahead = [np.zeros(1, dtype=np.int64)]
    for step, after in zip(reversed(steps[1:]), reversed(nexts[1:]), strict=True):
        ahead.insert(0, best(step + ahead[0][after], axis=1))
    return ahead


def _with_most_ahead(
    steps: Tables, nexts: Tables, slack: int, grid: int, missed: int
) -> ReducedCost:
    most = _ahead(steps, nexts, np.max)
    # More slack than can be spent is no information, and might not fit into 64 bits.
    spendable = int((steps[0] + most[0][nexts[0]]).max())
    return ReducedCost(steps, min(slack, spendable), tuple(most), nexts, grid, missed)
