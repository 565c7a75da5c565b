from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


class Policy:
    """The belief: one row of logits for each decision, zero at the start (all options equal).

    All rows lie in one tensor, so that an optimiser step costs the same for any number of
    decisions.
    """

    def __init__(self, sizes: Sequence[int], learning_rate: float) -> None:
        self.sizes = tuple(sizes)
        self.logits = torch.zeros(sum(self.sizes), dtype=torch.float64)
        self._splits = np.cumsum(self.sizes)[:-1]
        # TabNAS appendix B.1: Adam(.9, .999) with eps = 1e-3.
        self._optimizer = torch.optim.Adam([self.logits], lr=learning_rate, eps=1e-3, maximize=True)

    def rows(self) -> list[np.ndarray]:
        """The logits of each decision (views, not copies)."""
        return np.split(self.logits.numpy(), self._splits)

    def probabilities(self) -> list[np.ndarray]:
        """The softmax of each row."""
        found = []
        for row in self.rows():
            weights = np.exp(row - row.max())
            found.append(weights / weights.sum())
        return found

    def ascend(self, gradient: np.ndarray) -> None:
        """One optimiser step along a gradient [sum of sizes] of what should grow."""
        self.logits.grad = torch.from_numpy(gradient)
        self._optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Logits and optimiser state."""
        return {"logits": self.logits.clone(), "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.logits.copy_(state["logits"])
        self._optimizer.load_state_dict(state["optimizer"])


def draw(probabilities: Sequence[np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
    """Independent draws, each decision by its own row: a pick matrix [n, decisions]."""
    picks = np.empty((n, len(probabilities)), dtype=np.int64)
    marks = rng.random((len(probabilities), n))
    for i, row in enumerate(probabilities):
        ladder = np.cumsum(row)
        picks[:, i] = np.searchsorted(ladder, marks[i] * ladder[-1], side="right")
    return picks
