"""What the output of each option of a path did for its loss: by derivatives, or exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch

from meritnas.data.stream import Batch
from meritnas.policy.tags import silent
from meritnas.space.space import Space
from meritnas.supernet.gates import Gate, one_path, tracked
from meritnas.supernet.probe import Probe

_VANISHES = 1e-3
"""The share of the largest derivative below which another one is nothing but rounding."""


class EdgeAdvantage(Protocol):
    """What each option's own output did for the reward, which is minus the loss."""

    @property
    def judges_zeros(self) -> bool:
        """Whether an option that gives zeros has its advantage; if not, it needs a substitute."""
        ...

    def judge(self, probe: Probe, batch: Batch, picks: np.ndarray) -> tuple[float, np.ndarray]:
        """(loss of a path [decisions], advantages [decisions])."""
        ...


@dataclass(frozen=True)
class ByGradient:
    """A_i = -dL/dgate_i at the path (AdvantageNAS, eq. 7): one pass forward and back.

    It is the first-order value of eq. 6. Where a convolution and a batch norm read the output, it
    is blind: their result does not change with the scale of what they read, so the derivatives by
    the gates of all edges into a node that feeds nothing else sum to zero, and that of a single
    edge is zero, whatever the edge did.
    """

    judges_zeros: ClassVar[bool] = False

    space: Space

    def judge(self, probe: Probe, batch: Batch, picks: np.ndarray) -> tuple[float, np.ndarray]:
        """All advantages at once."""
        gates, rows = tracked(picks.tolist(), self.space.sizes)
        loss, gradients = probe.whole_gradients(gates, batch, rows)
        return loss, -picked(gradients, picks)


@dataclass(frozen=True)
class Exact:
    """A_i = reward - reward with the output of decision i at zero (AdvantageNAS, eq. 6).

    One pass forward for the path and one for each decision whose option gives more than zeros;
    what a closed gate leaves as it was is computed once, where the supernet can tell.

    The policy gradient with it is unbiased whatever the rewards (theorem 4.2), options that give
    zeros included: theirs is 0. So they get no substitute, unlike in appendix B.
    """

    judges_zeros: ClassVar[bool] = True

    space: Space

    def judge(self, probe: Probe, batch: Batch, picks: np.ndarray) -> tuple[float, np.ndarray]:
        """Each advantage by a pass of its own."""
        heard = _heard(self.space, picks)
        loss, known = losses_without(probe, batch, picks, heard, self.space.sizes)
        advantages = np.zeros(len(picks))
        for i in heard:
            advantages[i] = known[i] - loss
        return loss, advantages


@dataclass(frozen=True)
class ExactWhereBlind:
    """Eq. 7, and eq. 6 for the edges of which eq. 7 cannot tell.

    These are found by numbers and not by structure: derivatives by the gates of the edges into a
    node that sum to nothing, or that are nothing, beside what they or the largest of the path are.
    Where that happens by chance an edge is judged exactly without need, which only costs a pass.

    Attributes:
        space: whose options the picks are.
        nodes: decisions that feed the same node; those in none are on their own.
    """

    judges_zeros: ClassVar[bool] = False

    space: Space
    nodes: Sequence[Sequence[int]] = ()

    def judge(self, probe: Probe, batch: Batch, picks: np.ndarray) -> tuple[float, np.ndarray]:
        """One pass forward and back, and a pass forward for each edge that needs it, and one."""
        loss, advantages = ByGradient(self.space).judge(probe, batch, picks)
        blind = self.blind(picks, advantages)
        if blind:
            whole, known = losses_without(probe, batch, picks, blind, self.space.sizes)
            for i in blind:
                advantages[i] = known[i] - whole
        return loss, advantages

    def blind(self, picks: np.ndarray, slopes: np.ndarray) -> list[int]:
        """The decisions that derivatives [decisions] say nothing of."""
        heard = set(_heard(self.space, picks))
        grouped = {i for node in self.nodes for i in node}
        alone = [(i,) for i in range(len(picks)) if i not in grouped]
        largest = float(np.abs(slopes).max(initial=0.0))
        found: list[int] = []
        for group in (*self.nodes, *alone):
            own = [i for i in group if i in heard]
            size = float(np.abs(slopes[own]).sum())
            if size <= _VANISHES * largest or abs(slopes[own].sum()) <= _VANISHES * size:
                found += own
        return sorted(found)


def judged_together(
    edge: EdgeAdvantage, probe: Probe, batch: Batch, picks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(losses [n], advantages [n, decisions]) of paths [n, decisions], shared out to workers."""

    def judge(number: int) -> list[float]:
        loss, advantages = edge.judge(probe, batch, picks[number])
        return [loss, *advantages.tolist()]

    found = probe.dealt(judge, len(picks), 1 + picks.shape[1])
    return found[:, 0], found[:, 1:]


def losses_without(
    probe: Probe, batch: Batch, picks: np.ndarray, edges: Iterable[int], sizes: Sequence[int]
) -> tuple[float, dict[int, float]]:
    """(the loss of a path, its loss with the output of each of these decisions at zero)."""
    path = one_path(picks.tolist())
    found = {}
    with probe.remembering():
        loss = probe.loss_under(path, batch)
        for i in sorted(edges, reverse=True):  # the later an edge, the more stays as it was
            closed = Gate(path[i].active, torch.zeros(sizes[i]))
            found[i] = probe.loss_under((*path[:i], closed, *path[i + 1 :]), batch)
    return loss, found


def _heard(space: Space, picks: np.ndarray) -> list[int]:
    """The decisions whose pick gives more than zeros."""
    zeros = silent(space)
    return [i for i, pick in enumerate(picks.tolist()) if not zeros[i][pick]]


def picked(rows: list[Any], picks: np.ndarray) -> np.ndarray:
    """The picked entry of each row of tensors: an array [decisions]."""
    return np.array([row[pick].item() for row, pick in zip(rows, picks, strict=True)])
