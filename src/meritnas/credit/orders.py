"""What estimates by random orders of players have in common: marginal scores, state."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


class OrderSampler:
    """Orders in which players were taken away, and what each removal cost.

    Args:
        rng: where orders come from.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._everybody: float | None = None
        self._marginals: list[np.ndarray] = []

    @property
    def permutations(self) -> int:
        """How many were made."""
        return len(self._marginals)

    @property
    def everybody(self) -> float:
        """What everybody scored together when last asked; 0 before the first permutation."""
        return 0.0 if self._everybody is None else self._everybody

    def state_dict(self) -> dict[str, Any]:
        """Generator and what was found so far."""
        return {
            "rng": json.dumps(self._rng.bit_generator.state),
            "everybody": self._everybody,
            "marginals": [row.tolist() for row in self._marginals],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._rng.bit_generator.state = json.loads(state["rng"])
        self._everybody = state["everybody"]
        self._marginals = [np.array(row) for row in state["marginals"]]
