"""A choice inside a supernet: the weighted sum of its active options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial as bound

import torch
from torch import Tensor, nn

from meritnas.supernet.gates import Gate
from meritnas.supernet.memory import FORGETFUL, Memory


class Mixed(nn.Module):
    """One edge of a supernet: the weighted sum of its active options.

    What is not active is not run. An option may be None: it gives zeros, which are never
    computed; where nothing but zeros is active the edge gives None.

    With partial channels K > 1 (PC-DARTS) the options see the first 1/K of the channels; the
    others pass by, weighted with the sum of the gate's weights (1 for softmax weights, the edge's
    own weight under edge normalisation) and halved in size where the edge has stride 2. Then
    channels are shuffled so that every part gets its turn.

    Args:
        options: one module for each option of the decision, None for zeros.
        partial: K.
        stride: of all options.
    """

    def __init__(
        self, options: Sequence[nn.Module | None], partial: int = 1, stride: int = 1
    ) -> None:
        super().__init__()
        self.options = nn.ModuleDict(
            {str(i): option for i, option in enumerate(options) if option is not None}
        )
        self._run: list[nn.Module | None] = list(options)
        self._partial = partial
        self._pass_by: Callable[[Tensor], Tensor] = (
            nn.MaxPool2d(2, 2, ceil_mode=True) if stride == 2 else nn.Identity()
        )

    def forward(
        self,
        inputs: Tensor,
        gate: Gate,
        beside: Tensor | None = None,
        memory: Memory = FORGETFUL,
    ) -> Tensor | None:
        """[n, channels, h, w] -> the same with h and w divided by the stride, or None.

        Args:
            inputs: what the options read.
            gate: which of them run.
            beside: what they read as well, where they fuse two inputs; such have whole channels.
            memory: where the options' outputs for these very inputs may be kept.
        """
        if self._partial == 1:
            return self._sum((inputs,) if beside is None else (inputs, beside), gate, memory)
        share = inputs.shape[1] // self._partial
        mixed = self._sum((inputs[:, :share],), gate, memory)
        if mixed is None:
            return None
        rest = self._pass_by(inputs[:, share:])
        if gate.weights is not None:
            rest = rest * gate.weights[list(gate.active)].sum()
        return _shuffled(torch.cat([mixed, rest], dim=1), self._partial)

    def speaks(self, gate: Gate) -> bool:
        """Whether anything but zeros is active."""
        return any(self._run[k] is not None for k in gate.active)

    def _sum(self, read: tuple[Tensor, ...], gate: Gate, memory: Memory) -> Tensor | None:
        total: Tensor | None = None
        for k in gate.active:
            option = self._run[k]
            if option is None:
                continue
            outputs = memory.recall((self, k), read, bound(option, *read))
            if gate.weights is not None:
                outputs = outputs * gate.weights[k]
            total = outputs if total is None else total + outputs
        return total


def _shuffled(channels: Tensor, groups: int) -> Tensor:
    """Channels [n, c, h, w] dealt out like cards: one from each of `groups` blocks in turn."""
    n, c, h, w = channels.shape
    return channels.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)
