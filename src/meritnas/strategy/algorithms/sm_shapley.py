"""SM-ShapNAS: a mixture whose weights follow grouped Shapley values, after gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from meritnas.clock import Clock
from meritnas.credit.grouped_shapley import GroupedSampler
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.darts import Softmax
from meritnas.strategy.algorithms.dense import first_order
from meritnas.strategy.algorithms.grouped import Grouped
from meritnas.strategy.algorithms.roles import best_roles
from meritnas.strategy.algorithms.valued_mixture import ValuedMixture
from meritnas.strategy.strategy import Learnt
from meritnas.supernet.probe import Probe

_MOST_LEADERS = 8


@dataclass
class GroupedMixture(ValuedMixture):
    """SM-ShapNAS: a mixture whose weights follow grouped Shapley values (algorithm 1, eq. 8-12).

    The supernet is trained as a mixture with weights softmax(alpha). After every epoch the weights
    rest and alpha moves: in the first epochs by gradients of the validation loss, about one pass
    over the validation data, and then by alpha_t = alpha_{t-1} + eps * phi / |phi|, phi being
    estimated turn by turn. All options of a player move alike. The first estimate has the groups'
    numbers of samples; later ones, once the warm-up is over, numbers that follow the weights.

    Deviations: algorithm 1 has both kinds of moves in every epoch, eq. 10-12 the second one only;
    `both` is the algorithm, first the gradients, and the warm-up then concerns the numbers of
    samples alone. The norm is over an alpha table, and nothing is scaled twice. The best
    architecture of all epochs is found at the end, with the weights of the end; which edge of a
    cell is x and which is y, of which values say nothing, is then decided by one-shot loss.

    Attributes:
        relaxation: alpha, by option, and how gradients move it.
        warm_share: the part of the epochs that is warm-up, rounded to whole ones.
        both: whether every epoch has gradients and an estimate.
    """

    estimate: Grouped
    relaxation: Softmax
    warm_share: float
    both: bool = False
    _sampler: GroupedSampler = field(init=False)
    _leaders: list[tuple[int, ...]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._begin(self.estimate.samples)

    def _begin(self, samples: np.ndarray) -> None:
        self._sampler = GroupedSampler(samples, self.rng, self.estimate.turns)

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One more turn of an epoch's gradients or of its estimate; the last one ends it."""
        warm_turns = self._warm_turns(clock)
        estimates = self.both or clock.phase_step >= warm_turns
        learnt = self._descended(probe, clock) if self._gradients(estimates) else None
        if estimates:
            found = self.advanced(probe)
            learnt = found if found.values["evaluations"] else learnt
        self._turn += 1
        if self._turn == self.estimate.turns:
            if estimates:
                self._move(by_weight=clock.phase_step + 1 >= warm_turns)
            self._remember()
            self._turn = 0
        return learnt

    def _warm_turns(self, clock: Clock) -> int:
        """How many of the phase's turns belong to the warm-up."""
        each = self.estimate.turns
        return round(self.warm_share * clock.phase_steps / each) * each

    def _gradients(self, estimates: bool) -> bool:
        """Whether this turn has gradients: where it estimates too, an epoch's first one only."""
        return not estimates or (self.both and self._turn == 0)

    def _descended(self, probe: Probe, clock: Clock) -> Learnt:
        """Steps of alpha by gradient: this turn's part of a pass, or all of it before an estimate.

        At least one; alpha must not move within an estimate.
        """
        steps, each = probe.evaluation_passes, self.estimate.turns
        if not self.both:
            steps = (self._turn + 1) * steps // each - self._turn * steps // each
        losses = []
        for _ in range(max(1, steps)):
            leaves = self.relaxation.leaves()
            rows = self.relaxation.rows(leaves, clock)
            loss, by_row = first_order(probe, rows)
            self.relaxation.descend(torch.autograd.grad(rows, leaves, by_row))
            losses.append(loss)
        return Learnt({"reward": 1.0 - float(np.mean(losses)), "used": 1.0})

    def _move(self, *, by_weight: bool) -> None:
        """The step along an estimate's values (eq. 11), and the next one's samples."""
        values = self._sampler.values()
        _, change = self.step.moved(np.zeros_like(values), values)
        rows = self.estimate.players.rows(change, self.feasible.space.sizes)
        self.relaxation.policy.logits += torch.from_numpy(np.concatenate(rows))
        estimate = self.estimate
        self._begin(estimate.by_weight(self.beliefs()) if by_weight else estimate.samples)

    def _remember(self) -> None:
        """The epoch's architecture, with the latest others."""
        leader = tuple(self.feasible.space.picks(self.leader()))
        others = [found for found in self._leaders if found != leader]
        self._leaders = [*others, leader][-_MOST_LEADERS:]

    def beliefs(self) -> list[np.ndarray]:
        """The weights within each decision."""
        return self.relaxation.probabilities()

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leaders of the epochs in their best roles, the smallest one-shot loss first."""
        space = self.feasible.space

        def loss(picks: tuple[int, ...]) -> float:
            return probe.held_out_loss(np.array(picks))

        leaders = sorted({tuple(space.picks(self.leader())), *self._leaders})
        found = dict(best_roles(self.feasible, picks, loss) for picks in leaders)
        return [space.architecture(picks) for picks in sorted(found, key=lambda p: (found[p], p))]

    def state_dict(self) -> dict[str, Any]:
        """Everything, the unfinished estimate included."""
        leaders = [list(picks) for picks in self._leaders]
        known = {"relaxation": self.relaxation.state_dict(), "leaders": leaders}
        return {**known, **super().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.relaxation.load_state_dict(state["relaxation"])
        super().load_state_dict(state)
        self._leaders = [tuple(picks) for picks in state["leaders"]]
