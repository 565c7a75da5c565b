"""DARTS and its kin: all options run, and what is learnt are their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.policy.tags import tagged
from meritnas.space.architecture import Architecture
from meritnas.space.rule import ABSENT
from meritnas.strategy.strategy import Learnt
from meritnas.strategy.turns import WITH_WEIGHTS, Turns
from meritnas.supernet.gates import Gates, mixture, tracked_mixture
from meritnas.supernet.probe import Probe


class Relaxation(Protocol):
    """Real numbers that stand for an architecture, and how they become weights of options."""

    def leaves(self) -> list[Tensor]:
        """The numbers as they are, ready for autograd."""
        ...

    def rows(self, leaves: Sequence[Tensor], clock: Clock) -> list[Tensor]:
        """Weights [options] for each decision, differentiable in the leaves; may be drawn."""
        ...

    def descend(self, gradients: Sequence[Tensor]) -> None:
        """Move the numbers against the gradients of a loss by the leaves."""
        ...

    def probabilities(self) -> list[np.ndarray]:
        """The weights within each decision, without noise; rows sum to one."""
        ...

    def scores(self) -> list[np.ndarray]:
        """What the options are worth to the final choice, a row for each decision."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state, generators included."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        ...


class Slope(Protocol):
    """How the loss changes with the weights of the options."""

    def __call__(self, probe: Probe, rows: Sequence[Tensor]) -> tuple[float, list[Tensor]]:
        """(validation loss, its gradient by each row)."""
        ...


def first_order(probe: Probe, rows: Sequence[Tensor]) -> tuple[float, list[Tensor]]:
    """The validation loss of a mixture at the weights as they are, and its gradient by row."""
    gates, leaves = tracked_mixture(rows)
    return probe.gradients(gates, probe.valid_batch(), leaves)


@dataclass
class Dense:
    """All options run, weighted; what is learnt are the weights (DARTS and its kin).

    Each step moves the relaxation against the gradient of the validation loss, then trains the
    supernet under the mixture as it is. The final choice is the feasible architecture whose
    options have the largest sum of weights, an absent edge counting nothing: on DARTS' space
    exactly its "two strongest edges of each node, and never `none`" (section 2.4), and under a
    limit the best that keeps it.

    Attributes:
        feasible: the architectures that may be chosen.
        relaxation: what is learnt.
        slope: where the gradient by the options' weights comes from.
    """

    feasible: FeasibleSet
    relaxation: Relaxation
    slope: Slope = first_order
    turns: Turns = WITH_WEIGHTS

    def sample(self, clock: Clock) -> Gates:
        """The mixture as it is (or is drawn), without gradients."""
        with torch.no_grad():
            return mixture(self.relaxation.rows(self.relaxation.leaves(), clock))

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One step against the gradient of the validation loss."""
        leaves = self.relaxation.leaves()
        rows = self.relaxation.rows(leaves, clock)
        loss, by_row = self.slope(probe, rows)
        self.relaxation.descend(torch.autograd.grad(rows, leaves, by_row))
        return Learnt({"reward": 1.0 - loss, "used": 1.0})

    def beliefs(self) -> list[np.ndarray]:
        """The weights within each decision."""
        return self.relaxation.probabilities()

    def leader(self) -> Architecture:
        """The feasible architecture whose options have the largest sum of weights."""
        return strongest(self.feasible, self.relaxation.scores())

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leader."""
        del probe
        return [self.leader()]

    def state_dict(self) -> dict[str, Any]:
        """The relaxation's."""
        return self.relaxation.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.relaxation.load_state_dict(state)


def strongest(feasible: FeasibleSet, scores: Sequence[np.ndarray]) -> Architecture:
    """The feasible architecture with the largest sum of scores, an absent edge counting 0."""
    return feasible.best(without_absent(feasible, scores))


def without_absent(feasible: FeasibleSet, scores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Scores with 0 for every option that means that the edge is not there."""
    absent = tagged(feasible.space, ABSENT)
    return [np.where(gone, 0.0, row) for gone, row in zip(absent, scores, strict=True)]


def tensors(rows: Sequence[np.ndarray]) -> list[Tensor]:
    """Weights [options] of each decision as gates take them."""
    return [torch.from_numpy(row).float() for row in rows]
