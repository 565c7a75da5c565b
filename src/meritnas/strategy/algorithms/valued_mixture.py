"""What mixtures that follow Shapley values have in common: estimates turn by turn, state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.dense import strongest, tensors
from meritnas.strategy.algorithms.shapley_estimate import Judging, Sampler, game_of
from meritnas.strategy.algorithms.shapley_step import ShapleyStep
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import Turns
from meritnas.supernet.gates import Gates, mixture
from meritnas.supernet.probe import Probe


@dataclass
class ValuedMixture:
    """A mixture whose weights alpha move after an epoch, once values have been estimated.

    The final choice is DARTS': the feasible architecture whose options have the largest sum of
    weights.

    Attributes:
        feasible: the architectures that may be chosen.
        estimate: how values are found.
        step: how they move alpha.
        rng: for permutations.
        most_moves: fewer than there are epochs after which alpha could move, or None.
    """

    feasible: FeasibleSet
    estimate: Judging
    step: ShapleyStep
    rng: np.random.Generator
    most_moves: int | None = field(default=None, kw_only=True)
    turns: Turns = field(init=False)
    _sampler: Sampler = field(init=False)
    _turn: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        each = self.estimate.turns
        most = None if self.most_moves is None else self.most_moves * each
        self.turns = Turns("frozen", most, each)

    def sample(self, clock: Clock) -> Gates:
        """The mixture as it is."""
        del clock
        return mixture(tensors(self.beliefs()))

    def advanced(self, probe: Probe) -> Learnt:
        """One more turn of the estimate."""
        game = game_of(self.estimate, probe, tensors(self.beliefs()))
        with probe.remembering():
            self._sampler.advance(game)
        evaluations = float(game.evaluations)
        return Learnt({"reward": self._sampler.everybody, "used": 1.0, "evaluations": evaluations})

    def beliefs(self) -> list[np.ndarray]:
        """The weights within each decision."""
        raise NotImplementedError

    def leader(self) -> Architecture:
        """The feasible architecture whose options have the largest sum of weights."""
        return strongest(self.feasible, self.beliefs())

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leader."""
        del probe
        return [self.leader()]

    def state_dict(self) -> dict[str, Any]:
        """Generator and the unfinished estimate."""
        return {
            "rng": rng_state(self.rng),
            "sampler": self._sampler.state_dict(),
            "turn": self._turn,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        set_rng_state(self.rng, state["rng"])
        self._sampler.load_state_dict(state["sampler"])
        self._turn = state["turn"]
