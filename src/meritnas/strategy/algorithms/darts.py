"""DARTS: a softmax that learns by gradient, first and second order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.clock import Clock
from meritnas.policy.policy import Policy
from meritnas.policy.tags import mixable
from meritnas.strategy.algorithms.pace import make_policy
from meritnas.strategy.problem import Problem
from meritnas.supernet.gates import tracked_mixture
from meritnas.supernet.probe import Probe

INITIAL_SPREAD = 1e-3
"""DARTS' logits begin as normal noise of this size."""


@dataclass(frozen=True)
class Softmax:
    """Options weighted by the softmax of their logits (DARTS, eq. 2; Liu et al., 2019).

    Attributes:
        policy: the logits alpha.
        mixed: booleans [options] for each decision: which options take part; the others have
            weight zero.
    """

    policy: Policy
    mixed: Sequence[np.ndarray]

    def leaves(self) -> list[Tensor]:
        """The logits, in one tensor."""
        return [self.policy.differentiable()]

    def rows(self, leaves: Sequence[Tensor], clock: Clock) -> list[Tensor]:
        """The softmax of each row over the options that take part."""
        del clock
        return softmax_rows(leaves[0], self.policy.sizes, self.mixed)

    def descend(self, gradients: Sequence[Tensor]) -> None:
        """One optimiser step of the logits."""
        self.policy.ascend(-gradients[0].double().numpy())

    def probabilities(self) -> list[np.ndarray]:
        """The same rows, as numbers."""
        return masked_softmax(self.policy.rows(), self.mixed)

    def scores(self) -> list[np.ndarray]:
        """The weights themselves."""
        return self.probabilities()

    def state_dict(self) -> dict[str, Any]:
        """The policy's."""
        return {"policy": self.policy.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])


def softmax_weights(
    problem: Problem, pace: str, rate: float | None, rng: np.random.Generator
) -> Softmax:
    """DARTS' weights of options, from small noise on."""
    space = problem.feasible.space
    initial = INITIAL_SPREAD * rng.standard_normal(sum(space.sizes))
    policy = make_policy(pace, space.sizes, problem.joint_steps, rate, initial)
    return Softmax(policy, mixable(space))


@dataclass(frozen=True)
class Unrolled:
    """The gradient of the validation loss after one more step of the weights (DARTS, eq. 7-8).

    With w' = w - xi * grad_w L_train(w), it is grad_rows L_val(w') minus xi times the mixed
    second derivative of L_train times v = grad_w' L_val(w'), by central differences at
    w +- epsilon * v with epsilon = .01 / |v|. Four losses, none at second order.

    Deviations: the virtual step is plain gradient descent, where DARTS' code adds momentum and
    weight decay; its training batch is one of its own, where DARTS' code takes that of the weight
    step to come.

    Attributes:
        rate: xi, the learning rate of the weights; DARTS lets it fall with theirs, here it stays.
    """

    rate: float

    def __call__(self, probe: Probe, rows: Sequence[Tensor]) -> tuple[float, list[Tensor]]:
        """(validation loss after the virtual step, the gradient by each row)."""
        train, valid = probe.train_batch(), probe.valid_batch()
        gates, leaves = tracked_mixture(rows)
        held = {name: weight.requires_grad_() for name, weight in _copies(probe.weights()).items()}
        names = list(held)
        _, slopes = probe.gradients(gates, train, [held[name] for name in names], held)
        moved = {
            name: (held[name].detach() - self.rate * slope).requires_grad_()
            for name, slope in zip(names, slopes, strict=True)
        }
        by = [*leaves, *(moved[name] for name in names)]
        loss, found = probe.gradients(gates, valid, by, moved)
        direct, v = found[: len(leaves)], found[len(leaves) :]
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(v))))
        if norm == 0.0:
            return loss, direct
        epsilon = 0.01 / norm
        sides = []
        for sign in (1.0, -1.0):
            shifted = {
                name: held[name].detach() + sign * epsilon * one
                for name, one in zip(names, v, strict=True)
            }
            sides.append(probe.gradients(gates, train, leaves, shifted)[1])
        mixed = [(above - below) / (2 * epsilon) for above, below in zip(*sides, strict=True)]
        return loss, [d - self.rate * m for d, m in zip(direct, mixed, strict=True)]


def _copies(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of their own that share the numbers, so that recording gradients leaves no trace."""
    return {name: weight.detach() for name, weight in weights.items()}


def softmax_rows(logits: Tensor, sizes: Sequence[int], mixed: Sequence[np.ndarray]) -> list[Tensor]:
    """The softmax of each row of logits [sum of sizes] over the options that take part."""
    out = torch.from_numpy(~np.concatenate(list(mixed)))
    kept = logits.masked_fill(out, -torch.inf)
    return [row.softmax(0) for row in kept.split(list(sizes))]


def masked_softmax(rows: Sequence[np.ndarray], mixed: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same in numpy, in double precision."""
    found = []
    for row, part in zip(rows, mixed, strict=True):
        weights = np.where(part, np.exp(row - row[part].max()), 0.0)
        found.append(weights / weights.sum())
    return found
