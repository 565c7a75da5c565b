"""A layer of a supernet whose number of units is searched."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.supernet.gates import Gate
from meritnas.supernet.supernet import leading_block


class WidthLayer(nn.Module):
    """Linear, LayerNorm, ReLU with a searched number of units (TabNAS, section 3.1).

    A width uses the first units of the layer, and as many inputs as the layer before it passes
    on. LayerNorm has no weights of its own and its statistics cover the active units only, so a
    slice computes exactly what the stand-alone layer computes. A mixture of widths is
    sum_k g_k * pad(ReLU(LayerNorm(z[:w_k]))): each width is normalised over its own units. Where
    no width is active, the layer gives zeros, as few as it can.
    """

    def __init__(self, inputs: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.linear = nn.Linear(inputs, max(widths))

    def forward(self, inputs: Tensor, gate: Gate) -> Tensor:
        """[n, inputs passed on] -> [n, widest active width], or the smallest without any."""
        return width_units(inputs, gate, self.widths, self.linear.weight, self.linear.bias)


def widest(widths: Sequence[int], gate: Gate) -> int:
    """The largest active width; the smallest of all where none is active."""
    if len(gate.active) == 1:
        return widths[gate.active[0]]
    return max((widths[option] for option in gate.active), default=min(widths))


def activate(scores: Tensor, width: int) -> Tensor:
    """ReLU(LayerNorm) of the first `width` scores [n, at least width], over these alone."""
    return torch.relu(torch.layer_norm(leading_block(scores, (len(scores), width)), (width,)))


def width_units(
    inputs: Tensor, gate: Gate, widths: Sequence[int], weight: Tensor, bias: Tensor
) -> Tensor:
    """What a `WidthLayer` computes, with weights that may be cut to their block already."""
    width = widest(widths, gate)
    if not gate.active:
        return inputs.new_zeros(len(inputs), width)
    block = leading_block(weight, (width, inputs.shape[1]))
    scores = F.linear(inputs, block, leading_block(bias, (width,)))
    if gate.weights is None:
        return activate(scores, width)
    total = None
    for option in gate.active:
        own = widths[option]
        units = activate(scores, own) * gate.weights[option]
        padded = F.pad(units, (0, width - own))
        total = padded if total is None else total + padded
    assert total is not None
    return total
