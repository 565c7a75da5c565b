"""Drop-path: what an operation gives is left out for some images of a batch, in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from meritnas.errors import UsageError


class DropPath(nn.Module):
    """Leaves out what an operation gives, for some images of a batch, in training.

    FractalNet's drop-path (Larsson et al., 2017) as DARTS uses it: each image by itself, the
    others scaled up by 1 / (1 - rate), so that the mean stays. DARTS has none behind a skip
    connection, and a rate that grows with the epochs (`ramp_drop_paths`).

    Attributes:
        final: the share left out at the end of training.
        rate: the share left out now; `final` unless someone has set it.
    """

    def __init__(self, final: float) -> None:
        super().__init__()
        if not 0 <= final < 1:
            raise UsageError(f"drop-path must be from 0 to below 1, got {final}")
        self.final = final
        self.rate = final

    def forward(self, outputs: Tensor) -> Tensor:
        """[n, ...] -> the same with some of the n at 0 and the others scaled up, in training."""
        if not self.training or self.rate == 0:
            return outputs
        kept = 1.0 - self.rate
        factors = torch.empty(
            (len(outputs), *[1] * (outputs.ndim - 1)), dtype=outputs.dtype, device=outputs.device
        )
        return outputs * factors.bernoulli_(kept).div_(kept)

    def extra_repr(self) -> str:
        """What the module's own text shows."""
        return f"final={self.final}, rate={self.rate}"


def ramp_drop_paths(module: nn.Module, share: float) -> None:
    """Set every drop-path in a network to this share of its final rate."""
    for part in module.modules():
        if isinstance(part, DropPath):
            part.rate = part.final * share
