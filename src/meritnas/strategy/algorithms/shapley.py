from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.supernet_game import Players
from meritnas.policy.tags import mixable
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.darts import masked_softmax
from meritnas.strategy.algorithms.dense import strongest
from meritnas.strategy.algorithms.shapley_estimate import Estimate, Sampler, game_of
from meritnas.strategy.algorithms.shapley_step import ShapleyStep
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import Turns
from meritnas.supernet.gates import Gates, mixture
from meritnas.supernet.probe import Probe


@dataclass
class Shapley:
    """Shapley-NAS: options weighted by a softmax that follows their Shapley values (section 3.3).

    The supernet is trained as a mixture with weights softmax(alpha). After every epoch that
    follows the warm-up, the weights rest while values are estimated, turn by turn; after the last
    one alpha takes a step along them. The final choice is DARTS':
    the feasible architecture whose options have the largest sum of weights.

    Deviations: the paper says not after how many steps alpha moves, its code after an epoch, as
    here. Logits begin as normal noise of 1e-3, as DARTS' do.

    Attributes:
        feasible: the architectures that may be chosen.
        estimate: how values are found.
        step: how they move alpha.
        logits: [players], alpha.
        average: [players], s.
        rng: for permutations.
        most_estimates: fewer than there are epochs, or None.
    """

    feasible: FeasibleSet
    estimate: Estimate
    step: ShapleyStep
    logits: np.ndarray
    average: np.ndarray
    rng: np.random.Generator
    most_estimates: int | None = None
    turns: Turns = field(init=False)
    _sampler: Sampler = field(init=False)
    _turn: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        each = self.estimate.turns
        most = None if self.most_estimates is None else self.most_estimates * each
        self.turns = Turns("frozen", most, each)
        self._sampler = self.estimate.begin(self.rng)

    def sample(self, clock: Clock) -> Gates:
        """The mixture as it is."""
        del clock
        return mixture(self._rows())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One more turn of the estimate; the last one moves alpha."""
        del clock
        learnt = None
        if not self.estimate.enough(self._sampler):
            game = game_of(self.estimate, probe, self._rows())
            with probe.remembering():
                self._sampler.advance(game)
            evaluations = float(game.evaluations)
            learnt = Learnt(
                {"reward": self._sampler.everybody, "used": 1.0, "evaluations": evaluations}
            )
        self._turn += 1
        if self._turn == self.estimate.turns:
            values = self.estimate.values(self._sampler)
            self.average, change = self.step.moved(self.average, values)
            self.logits = self.logits + change
            self._sampler = self.estimate.begin(self.rng)
            self._turn = 0
        return learnt

    def _rows(self) -> list[Tensor]:
        return [torch.from_numpy(row).float() for row in self.beliefs()]

    def beliefs(self) -> list[np.ndarray]:
        """The weights within each decision."""
        return weights_of(self.feasible, self.estimate.players, self.logits)

    def leader(self) -> Architecture:
        """The feasible architecture whose options have the largest sum of weights."""
        return strongest(self.feasible, self.beliefs())

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leader."""
        del probe
        return [self.leader()]

    def state_dict(self) -> dict[str, Any]:
        """Everything, the unfinished estimate included."""
        return {
            "logits": self.logits.tolist(),
            "average": self.average.tolist(),
            "rng": rng_state(self.rng),
            "sampler": self._sampler.state_dict(),
            "turn": self._turn,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.logits = np.array(state["logits"])
        self.average = np.array(state["average"])
        set_rng_state(self.rng, state["rng"])
        self._sampler.load_state_dict(state["sampler"])
        self._turn = state["turn"]


def weights_of(feasible: FeasibleSet, players: Players, logits: np.ndarray) -> list[np.ndarray]:
    """The softmax of logits [players] within each decision; 0 for options that do not play."""
    rows = players.rows(logits, feasible.space.sizes)
    return masked_softmax(rows, mixable(feasible.space))
