from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.data.bundle import Part
from meritnas.data.stream import Batch, BatchStream
from meritnas.errors import DivergedError
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.supernet import Supernet

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""(outputs [n, outputs], target [n], weights of the rows [n] or None) -> mean loss."""

_ROWS_AT_ONCE = 8192


class Probe:
    """A strategy's only window on the supernet; it counts every pass.

    Attributes:
        passes: forward passes of a batch so far, whoever asked for them.
    """

    def __init__(
        self, supernet: Supernet, loss: Loss, train: BatchStream, valid: BatchStream, held: Part
    ) -> None:
        self._supernet = supernet
        self._loss = loss
        self._train = train
        self._valid = valid
        self._held = held
        self.passes = 0

    @property
    def evaluation_passes(self) -> int:
        """What `held_out_loss` costs, in passes of a validation batch."""
        return self._valid.steps_per_epoch

    def train_batch(self) -> Batch:
        """The next batch to train weights on."""
        return self._train.next()

    def valid_batch(self) -> Batch:
        """The next batch to judge architectures on."""
        return self._valid.next()

    def loss(self, gates: Gates, batch: Batch, weights: Mapping[str, Tensor]) -> Tensor:
        """The loss under gates with these tensors in place of the supernet's parameters."""
        self.passes += 1
        return self._loss(self._supernet(batch.inputs, gates, weights), batch.target, batch.weights)

    def losses(self, picks: np.ndarray, batch: Batch) -> np.ndarray:
        """Losses [n] of architectures given as a pick matrix [n, decisions], without gradients."""
        self.passes += len(picks)
        with torch.no_grad():
            outputs = self._supernet.each(batch.inputs, picks.tolist())
            found = [self._loss(one, batch.target, batch.weights) for one in outputs]
        losses = np.array(torch.stack(found).tolist()) if found else np.empty(0)
        if not np.isfinite(losses).all():
            raise DivergedError
        return losses

    def held_out_loss(self, picks: np.ndarray) -> float:
        """The one-shot loss of one architecture [decisions] on the whole validation part."""
        self.passes += self.evaluation_passes
        gates = one_path(picks.tolist())
        total = torch.zeros((), dtype=torch.float64)
        with torch.no_grad():
            for start in range(0, len(self._held), _ROWS_AT_ONCE):
                rows = self._held.slice(start, start + _ROWS_AT_ONCE)
                loss = self._loss(self._supernet(rows.inputs, gates), rows.target, rows.weights)
                total += loss.double().cpu() * len(rows)
        if not torch.isfinite(total):
            raise DivergedError
        return float(total) / len(self._held)

    def state_dict(self) -> dict[str, Any]:
        """Where the batches stand, and the count of passes."""
        return {
            "train": self._train.state_dict(),
            "valid": self._valid.state_dict(),
            "passes": self.passes,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._train.load_state_dict(state["train"])
        self._valid.load_state_dict(state["valid"])
        self.passes = state["passes"]
