"""Search one way, and choose by Shapley values at the end: the ablation of Shapley-NAS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.dense import strongest, tensors
from meritnas.strategy.algorithms.shapley_estimate import Estimate, game_of
from meritnas.strategy.strategy import Learnt, Strategy, rng_state, set_rng_state
from meritnas.strategy.turns import Turns
from meritnas.supernet.gates import Gates
from meritnas.supernet.probe import Probe


@dataclass
class RankedByShapley:
    """Search one way, and choose by Shapley values of the mixture at the end (the ablation).

    With DARTS inside this is "DARTS+Shapley", with a mixture that never learns the starred one.

    Attributes:
        searched: the strategy that learns; its beliefs are the mixture.
        feasible: the architectures that may be chosen.
        estimate: how values are found.
        rng: for permutations.
    """

    searched: Strategy
    feasible: FeasibleSet
    estimate: Estimate
    rng: np.random.Generator

    @property
    def turns(self) -> Turns:
        """Those of the search."""
        return self.searched.turns

    def sample(self, clock: Clock) -> Gates:
        """The search's."""
        return self.searched.sample(clock)

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """The search's."""
        return self.searched.update(probe, clock)

    def beliefs(self) -> list[np.ndarray]:
        """The search's."""
        return self.searched.beliefs()

    def leader(self) -> Architecture:
        """The search's, as values are found at the end only."""
        return self.searched.leader()

    def derive(self, probe: Probe) -> list[Architecture]:
        """The feasible architecture whose options have the largest sum of Shapley values."""
        sampler = self.estimate.begin(np.random.default_rng(self.rng.integers(2**63)))
        game = game_of(self.estimate, probe, tensors(self.beliefs()))
        with probe.remembering():
            for _ in range(self.estimate.turns):
                if not self.estimate.enough(sampler):
                    sampler.advance(game)
        values = self.estimate.values(sampler)
        scores = self.estimate.players.rows(values, self.feasible.space.sizes)
        return [strongest(self.feasible, scores)]

    def state_dict(self) -> dict[str, Any]:
        """The search's, and the generator."""
        return {"searched": self.searched.state_dict(), "rng": rng_state(self.rng)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.searched.load_state_dict(state["searched"])
        set_rng_state(self.rng, state["rng"])
