"""What architecture a learnt policy stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Cost
from meritnas.policy.policy import Policy
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe


class FinalChoice(Protocol):
    """What architecture a learnt policy stands for; never one that breaks a limit."""

    def ranked(
        self, policy: Policy, feasible: FeasibleSet, probe: Probe, rng: np.random.Generator
    ) -> list[Architecture]:
        """Feasible architectures, best first."""
        ...


@dataclass(frozen=True)
class Mode:
    """The most probable feasible architecture, exactly."""

    def ranked(
        self, policy: Policy, feasible: FeasibleSet, probe: Probe, rng: np.random.Generator
    ) -> list[Architecture]:
        """One architecture."""
        del probe, rng
        return [feasible.mode(policy.rows())]


@dataclass(frozen=True)
class ProcessBest:
    """The best of what was judged while searching, and after it the most probable one."""

    seen: BestSeen

    def ranked(
        self, policy: Policy, feasible: FeasibleSet, probe: Probe, rng: np.random.Generator
    ) -> list[Architecture]:
        """One or two architectures."""
        found = Mode().ranked(policy, feasible, probe, rng)
        if self.seen.picks is None:
            return found
        best = feasible.space.architecture(self.seen.picks)
        return [best, *(other for other in found if other != best)]


@dataclass(frozen=True)
class Largest:
    """TabNAS' algorithm 3: of m draws the n different feasible ones that cost most.

    Draws come from p(. | V) directly, so all m are feasible. Ties go to what was drawn more often
    (the paper leaves them open).
    """

    cost: Cost
    draws: int = 500
    keep: int = 3

    def ranked(
        self, policy: Policy, feasible: FeasibleSet, probe: Probe, rng: np.random.Generator
    ) -> list[Architecture]:
        """The largest first."""
        del probe
        picks = feasible.condition(policy.rows()).sample(self.draws, rng)
        unique, counts = np.unique(picks, axis=0, return_counts=True)
        order = np.lexsort((-counts, -self.cost.of(unique)))
        return [feasible.space.architecture(row) for row in unique[order[: self.keep]]]


@dataclass(frozen=True)
class Ranked:
    """Algorithm 3's few largest, the most frequent draws and the exact mode, by one-shot loss.

    Judging a candidate on the whole validation part costs a few passes, so a handful of the
    policy's favourites are judged beside the largest ones.
    """

    largest: Largest
    frequent: int = 16

    def ranked(
        self, policy: Policy, feasible: FeasibleSet, probe: Probe, rng: np.random.Generator
    ) -> list[Architecture]:
        """The smallest one-shot loss first."""
        candidates = {
            *Mode().ranked(policy, feasible, probe, rng),
            *self.largest.ranked(policy, feasible, probe, rng),
        }
        picks = feasible.condition(policy.rows()).sample(self.largest.draws, rng)
        unique, counts = np.unique(picks, axis=0, return_counts=True)
        for row in unique[np.argsort(-counts, kind="stable")[: self.frequent]]:
            candidates.add(feasible.space.architecture(row))
        # In an order that is the same in all processes that judge them together.
        found = sorted(candidates, key=lambda one: one.text)
        losses = probe.held_out_losses(np.array([feasible.space.picks(one) for one in found]))
        return [found[k] for k in np.argsort(losses, kind="stable")]


@dataclass(frozen=True)
class Favourites:
    """What a choice says, and after it what others say: who trains several has more to compare.

    One-shot losses are unkind to large networks, whose weights take longest to train, so the
    largest of the policy's draws is worth a look beside its favourite.
    """

    first: FinalChoice
    others: tuple[FinalChoice, ...]

    def ranked(
        self, policy: Policy, feasible: FeasibleSet, probe: Probe, rng: np.random.Generator
    ) -> list[Architecture]:
        """The first choice's, then what the others add."""
        found: list[Architecture] = []
        for choice in (self.first, *self.others):
            for architecture in choice.ranked(policy, feasible, probe, rng):
                if architecture not in found:
                    found.append(architecture)
        return found


def judged_choice(problem: Problem, final: str, seen: BestSeen) -> FinalChoice:
    """The final choice of the strategies whose updates judge whole architectures.

    The choice that was asked for, `argmax` or `process-best`, comes first; the largest of the
    policy's draws and the other choice follow.
    """
    choices: dict[str, FinalChoice] = {"argmax": Mode(), "process-best": ProcessBest(seen)}
    first = choices.pop(final)
    others = list(choices.values())
    if problem.costs:
        others.insert(0, Largest(counted_cost(problem), keep=1))
    return Favourites(first, tuple(others))


def counted_cost(problem: Problem) -> Cost:
    """The cost that 'largest' and the soft rewards look at: the first limit's, else params."""
    limits = problem.feasible.limits
    return problem.costs[limits[0].name if limits else next(iter(problem.costs))]
