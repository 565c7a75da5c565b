"""A residual network for tables, as a build function: how wide, how deep, how wide inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

import meritnas.nn as mn


class ResidualBlock(nn.Module):
    """Norm, two layers with a ReLU between them, and what came in (Gorishniy et al., 2021)."""

    def __init__(self, width: Any, hidden: Any) -> None:
        super().__init__()
        self.norm = mn.LayerNorm(width)
        self.up, self.down = mn.Linear(width, hidden), mn.Linear(hidden, width)
        self.dropout = nn.Dropout(0.0)

    def forward(self, units: Tensor) -> Tensor:
        """[n, width] -> the same."""
        found: Tensor = units + self.down(self.dropout(self.up(self.norm(units)).relu()))
        return found


def residual_network(
    pick: mn.Pick, inputs: int, outputs: int, *, widths: Sequence[int], blocks: int
) -> nn.Module:
    """A layer, up to so many residual blocks, a norm and a layer."""
    width = pick.width("width", *widths)
    depth = pick.depth("blocks", *range(1, blocks + 1))

    def block(number: int) -> nn.Module:
        return ResidualBlock(width, pick.width(f"hidden{number + 1}", *widths))

    return nn.Sequential(
        mn.Linear(inputs, width),
        mn.Stack(depth, block),
        mn.LayerNorm(width),
        nn.ReLU(),
        mn.Linear(width, outputs),
    )
