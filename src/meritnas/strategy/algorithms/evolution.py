"""Regularised evolution within the feasible set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.strategy.algorithms.black_box import Archive, uniform_draw


@dataclass(frozen=True)
class EvolutionProposer:
    """Regularised evolution within the feasible set: tournament, crossover, one mutation.

    The first `population` proposals are uniform; after them parents win a tournament among the
    latest `population`. Every child is feasible by construction, so nothing is ever retried.
    """

    population: int = 50
    tournament: int = 10
    crossover: float = 0.5

    def propose(
        self, archive: Archive, feasible: FeasibleSet, rng: np.random.Generator
    ) -> tuple[int, ...]:
        """A uniform draw at first, then a mutated winner."""
        if len(archive.picks) < self.population:
            return tuple(uniform_draw(feasible, 1, rng)[0].tolist())
        parent = np.array(self._winner(archive, rng))
        if rng.random() < self.crossover:
            other = np.array(self._winner(archive, rng))
            child = np.where(rng.random(len(parent)) < 0.5, parent, other)
            if feasible.contains(child[None, :])[0]:
                parent = child
        return mutate(parent, feasible, rng)

    def _winner(self, archive: Archive, rng: np.random.Generator) -> tuple[int, ...]:
        start = len(archive.picks) - self.population
        entrants = rng.integers(start, len(archive.picks), size=self.tournament)
        return archive.picks[min(entrants, key=lambda k: archive.losses[k])]


def mutate(parent: np.ndarray, feasible: FeasibleSet, rng: np.random.Generator) -> tuple[int, ...]:
    """Change one decision to another option that still fits; a different draw if none does."""
    for i in rng.permutation(len(parent)):
        size = feasible.space.sizes[i]
        changed = np.tile(parent, (size, 1))
        changed[:, i] = np.arange(size)
        fits = feasible.contains(changed)
        fits[parent[i]] = False
        options = np.flatnonzero(fits)
        if len(options):
            return tuple(changed[rng.choice(options)].tolist())
    # Where there are two feasible architectures, 64 draws miss one of them never (2 ** -64).
    drawn = uniform_draw(feasible, 64, rng)
    others = drawn[(drawn != parent).any(axis=1)]
    return tuple((others if len(others) else drawn)[0].tolist())
