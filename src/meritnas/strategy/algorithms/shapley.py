"""Shapley-NAS: a mixture whose weights follow the Shapley values of its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.supernet_game import Players
from meritnas.policy.tags import mixable
from meritnas.strategy.algorithms.darts import masked_softmax
from meritnas.strategy.algorithms.shapley_estimate import Estimate
from meritnas.strategy.algorithms.valued_mixture import ValuedMixture
from meritnas.strategy.strategy import Learnt
from meritnas.supernet.probe import Probe


@dataclass
class ShapleyMixture(ValuedMixture):
    """Shapley-NAS: options weighted by a softmax that follows their Shapley values (section 3.4).

    The supernet is trained as a mixture with weights softmax(alpha). After every epoch that
    follows the warm-up, the weights rest while values are estimated, turn by turn; after the last
    one alpha takes a step along them.

    Deviations: the paper says not after how many steps alpha moves, its code after an epoch, as
    here. Logits begin as normal noise of 1e-3, as DARTS' do.

    Attributes:
        logits: [players], alpha.
        average: [players], s.
        moves: how often alpha has moved.
    """

    estimate: Estimate
    logits: np.ndarray
    average: np.ndarray
    moves: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sampler = self.estimate.begin(self.rng)

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One more turn of the estimate; the last one moves alpha."""
        del clock
        learnt = None if self.estimate.enough(self._sampler) else self.advanced(probe)
        self._turn += 1
        if self._turn == self.estimate.turns:
            values = self.estimate.values(self._sampler)
            self.moves += 1
            self.average, change = self.step.moved(self.average, values, self.moves)
            self.logits = self.logits + change
            self._sampler = self.estimate.begin(self.rng)
            self._turn = 0
        return learnt

    def beliefs(self) -> list[np.ndarray]:
        """The weights within each decision."""
        return weights_of(self.feasible, self.estimate.players, self.logits)

    def state_dict(self) -> dict[str, Any]:
        """Everything, the unfinished estimate included."""
        known = {"logits": self.logits.tolist(), "average": self.average.tolist()}
        return {**known, "moves": self.moves, **super().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.logits = np.array(state["logits"])
        self.average = np.array(state["average"])
        self.moves = state.get("moves", 0)  # 0.1 kept none, and its steps need none
        super().load_state_dict(state)


def weights_of(feasible: FeasibleSet, players: Players, logits: np.ndarray) -> list[np.ndarray]:
    """The softmax of logits [players] within each decision; 0 for options that do not play."""
    rows = players.rows(logits, feasible.space.sizes)
    return masked_softmax(rows, mixable(feasible.space))
