"""The belief about a space: a row of logits for each decision, moved by Adam."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.errors import UsageError


@dataclass(frozen=True)
class Ascent:
    """How a gradient moves a policy, beside its rate. The defaults are TabNAS' (appendix B.1).

    Attributes:
        betas: Adam's.
        eps: Adam's.
        weight_decay: this much of the logits is taken from the gradient, which pulls a row
            towards equal options.
        clip: the largest norm of a gradient, over the whole table; None for any.
        falls_over: the rate falls to zero along a cosine over so many updates; None to stay.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-3
    weight_decay: float = 0.0
    clip: float | None = None
    falls_over: int | None = None


class Policy:
    """The belief: one row of logits for each decision, zero at the start (all options equal).

    All rows lie in one tensor, so that an optimiser step costs the same for any number of
    decisions.

    Args:
        sizes: the number of options of each decision.
        learning_rate: of Adam.
        ascent: the rest of how it moves.
        initial: the first logits [sum of sizes], where they are not zero.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        learning_rate: float,
        ascent: Ascent = Ascent(),
        initial: np.ndarray | None = None,
    ) -> None:
        self.sizes = tuple(sizes)
        self.logits = torch.zeros(sum(self.sizes), dtype=torch.float64)
        if initial is not None:
            self.logits.copy_(torch.from_numpy(initial))
        self._splits = np.cumsum(self.sizes)[:-1]
        self._rate = learning_rate
        self._ascent = ascent
        self._updates = 0
        self._optimizer = torch.optim.Adam(
            [self.logits],
            lr=learning_rate,
            betas=ascent.betas,
            eps=ascent.eps,
            weight_decay=ascent.weight_decay,
            maximize=True,
        )

    def rows(self) -> list[np.ndarray]:
        """The logits of each decision (views, not copies)."""
        return np.split(self.logits.numpy(), self._splits)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Numbers [sum of sizes] as one row for each decision (views, not copies)."""
        return np.split(values, self._splits)

    def probabilities(self) -> list[np.ndarray]:
        """The softmax of each row."""
        found = []
        for row in self.rows():
            weights = np.exp(row - row.max())
            found.append(weights / weights.sum())
        return found

    def differentiable(self) -> Tensor:
        """The logits as a leaf of their own, float32 [sum of sizes]: for autograd."""
        return self.logits.float().requires_grad_()

    def ascend(self, gradient: np.ndarray) -> None:
        """One optimiser step along a gradient [sum of sizes] of what should grow."""
        if self._ascent.clip is not None:
            norm = float(np.sqrt((gradient * gradient).sum()))
            gradient = gradient * min(1.0, self._ascent.clip / max(norm, 1e-12))
        if self._ascent.falls_over is not None:
            share = min(1.0, self._updates / self._ascent.falls_over)
            self._optimizer.param_groups[0]["lr"] = (
                self._rate * 0.5 * (1.0 + math.cos(math.pi * share))
            )
        self.logits.grad = torch.from_numpy(gradient)
        self._optimizer.step()
        self._updates += 1
        if not bool(torch.isfinite(self.logits).all()):
            raise UsageError(
                "what the search believes is no finite number any more; start a new run with a "
                "smaller policy_rate, or a reward that is less steep"
            )

    def state_dict(self) -> dict[str, Any]:
        """Logits, optimiser state and the number of updates."""
        return {
            "logits": self.logits.clone(),
            "optimizer": copy.deepcopy(self._optimizer.state_dict()),
            "updates": self._updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.logits.copy_(state["logits"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._updates = state["updates"]


def draw(probabilities: Sequence[np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
    """Independent draws, each decision by its own row: a pick matrix [n, decisions]."""
    picks = np.empty((n, len(probabilities)), dtype=np.int64)
    marks = rng.random((len(probabilities), n))
    for i, row in enumerate(probabilities):
        ladder = np.cumsum(row)
        picks[:, i] = np.searchsorted(ladder, marks[i] * ladder[-1], side="right")
    return picks
