from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.supernet.gates import Gate
from meritnas.supernet.supernet import leading_block


class WidthLayer(nn.Module):
    """Linear, LayerNorm, ReLU with a searched number of units (TabNAS, section 3.1).

    A width uses the first units of the layer, and as many inputs as the layer before it passes
    on. LayerNorm has no weights of its own and its statistics cover the active units only, so a
    slice computes exactly what the stand-alone layer computes. A mixture of widths is
    sum_k g_k * pad(ReLU(LayerNorm(z[:w_k]))): each width is normalised over its own units.
    """

    def __init__(self, inputs: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.linear = nn.Linear(inputs, max(widths))

    def widest(self, gate: Gate) -> int:
        """The number of units that a gate computes."""
        return max(self.widths[option] for option in gate.active)

    def forward(self, inputs: Tensor, gate: Gate) -> Tensor:
        """[n, inputs passed on] -> [n, widest active width]."""
        width = self.widest(gate)
        weight = leading_block(self.linear.weight, (width, inputs.shape[1]))
        scores = F.linear(inputs, weight, leading_block(self.linear.bias, (width,)))
        if gate.weights is None:
            return F.relu(F.layer_norm(scores, (width,)))
        total = None
        for option in gate.active:
            own = self.widths[option]
            units = F.relu(F.layer_norm(scores[:, :own], (own,))) * gate.weights[option]
            padded = F.pad(units, (0, width - own))
            total = padded if total is None else total + padded
        assert total is not None
        return total
