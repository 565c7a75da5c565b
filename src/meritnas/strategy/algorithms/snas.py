"""SNAS' soft draws of the weights of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.clock import Clock
from meritnas.strategy.algorithms.darts import Softmax, softmax_rows
from meritnas.strategy.algorithms.temperature import Temperature, snas_temperature
from meritnas.strategy.strategy import rng_state, set_rng_state


@dataclass(frozen=True)
class Concrete:
    """Options weighted by a draw from the concrete distribution (SNAS, eq. 4; Xie et al., 2019).

    A row is softmax((logits + Gumbel noise) / temperature): soft draws that turn one-hot as the
    temperature falls; gradients pass through the draw.

    Deviations: beliefs learn from validation batches and weights from training batches in turn,
    as all strategies here (and in AdvantageNAS' comparison) do, where SNAS learns both from one
    batch; no cost enters the loss.

    Attributes:
        options: the logits, and which options take part.
        rng: where the noise comes from.
        temperature: by the clock.
    """

    options: Softmax
    rng: np.random.Generator
    temperature: Temperature = snas_temperature

    def leaves(self) -> list[Tensor]:
        """The logits, in one tensor."""
        return self.options.leaves()

    def rows(self, leaves: Sequence[Tensor], clock: Clock) -> list[Tensor]:
        """A fresh draw."""
        noise = torch.from_numpy(self.rng.gumbel(size=len(leaves[0])).astype(np.float32))
        logits = (leaves[0] + noise) / self.temperature(clock)
        return softmax_rows(logits, self.options.policy.sizes, self.options.mixed)

    def descend(self, gradients: Sequence[Tensor]) -> None:
        """One optimiser step of the logits."""
        self.options.descend(gradients)

    def probabilities(self) -> list[np.ndarray]:
        """The softmax of the logits: how often a draw favours each option."""
        return self.options.probabilities()

    def scores(self) -> list[np.ndarray]:
        """The same."""
        return self.options.scores()

    def state_dict(self) -> dict[str, Any]:
        """Policy and generator."""
        return {"options": self.options.state_dict(), "rng": rng_state(self.rng)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.options.load_state_dict(state["options"])
        set_rng_state(self.rng, state["rng"])
