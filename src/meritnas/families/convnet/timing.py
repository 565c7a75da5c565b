"""How long networks of stages take, by their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms
from meritnas.families.convnet import blocks
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.convnet.costs import stage_factors
from meritnas.families.convnet.layout import Layout
from meritnas.families.convnet.network import Side, Squeeze, conv_norm
from meritnas.families.latency import Device, microseconds_on

_ROUNDS = 3


def timed_terms(layout: Layout, device: Device) -> CostTerms:
    """Microseconds for one image: convolutions, squeezes, pooling, the linear layer.

    There are some thousand shapes, so that each is timed in three rounds only. Scaling images
    and adding shortcuts, which take next to nothing, are not counted.

    Args:
        layout: whose networks.
        device: where they are to run.
    """
    parts: dict[_Part, tuple[nn.Module, Tensor]] = {}
    for stage in range(layout.stages):
        for inputs, name, width, first in _blocks(layout, stage):
            for side in layout.sides(stage):
                for part in _timed_parts(name, inputs, width, first, stage > 0, side):
                    if part not in parts:
                        parts[part] = part.made(), torch.zeros(1, part.inputs, *part.side)
    widths = {width for stage in range(layout.stages) for width in layout.numbers(stage)[2]}
    heads = {width: (_head(width, layout.classes), torch.zeros(1, width, 4, 4)) for width in widths}
    spent = microseconds_on(parts, device, _ROUNDS)
    ends = microseconds_on(heads, device)

    def cost(
        name: str, inputs: int, width: int, first: bool, sides: Sequence[Side], stage: int
    ) -> np.ndarray:
        each = [_timed_parts(name, inputs, width, first, stage > 0, side) for side in sides]
        return np.array([sum(spent[part] for part in own) for own in each])

    factors = stage_factors(layout, cost, lambda width: ends[width], areas=True)
    return CostTerms(layout.sizes, 0, factors, "ms an image", 1000)


def _head(width: int, classes: int) -> nn.Module:
    """What comes after the last stage."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def _blocks(layout: Layout, stage: int) -> Iterator[tuple[int, str, int, bool]]:
    """(channels that come in, block, channels that go out, whether it is the first)."""
    _, names, widths = layout.numbers(stage)
    for name, width in product(names, widths):
        yield width, name, width, False
        for before in layout.befores(stage):
            yield before, name, width, True


class _Part(NamedTuple):
    """What is timed: a convolution with its norm and ReLU, a squeeze (no kernel), or pooling."""

    kind: Literal["conv", "squeeze", "halve"]
    inputs: int
    outputs: int
    kernel: int
    groups: int
    side: Side

    def made(self) -> nn.Module:
        if self.kind == "conv":
            conv = conv_norm(self.inputs, self.outputs, self.kernel, self.groups)
            return nn.Sequential(conv, nn.ReLU())
        return Squeeze(self.inputs) if self.kind == "squeeze" else nn.MaxPool2d(2, ceil_mode=True)


def _timed_parts(
    name: str, inputs: int, width: int, first: bool, halves: bool, side: Side
) -> list[_Part]:
    """All of a block, and the pooling before the first one of a stage but the first."""
    block = BLOCKS[name]
    found = [
        _Part("conv", *shape, side)
        for shape in blocks.convolutions(block, inputs, width, first).values()
    ]
    if channels := blocks.squeezed_channels(block, width):
        found.append(_Part("squeeze", channels, channels, 1, 1, side))
    if first and halves:
        before = 2 * side[0], 2 * side[1]
        found.append(_Part("halve", inputs, inputs, 2, 1, before))
    return found
