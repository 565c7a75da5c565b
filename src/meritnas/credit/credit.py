"""What credit is: what the options of drawn architectures did for their loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from meritnas.data.stream import Batch
from meritnas.policy.laws import Draw
from meritnas.policy.policy import Policy
from meritnas.supernet.probe import Probe


@dataclass(frozen=True)
class Assigned:
    """Where a policy should move, and why.

    Attributes:
        gradient: [sum of sizes], of what should grow, with respect to the logits.
        losses: [n], of the draws.
        values: numbers by name, for the run's record.
    """

    gradient: np.ndarray
    losses: np.ndarray
    values: Mapping[str, float]


class Credit(Protocol):
    """What the options of drawn architectures did for their loss.

    REINFORCE, PARSEC and AdvantageNAS differ in this and in nothing else.
    """

    def assign(self, probe: Probe, batch: Batch, drawn: Draw, policy: Policy) -> Assigned:
        """Judge draws (at least one) of this policy on a batch."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """What it remembers."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        ...


def score_gradient(drawn: Draw, weights: np.ndarray) -> np.ndarray:
    """Sum over draws of weight * (onehot(y) - center), all rows in one array."""
    rows = []
    for i, center in enumerate(drawn.center):
        row = np.bincount(drawn.picks[:, i], weights=weights, minlength=len(center))
        rows.append(row - weights.sum() * center)
    return np.concatenate(rows)
