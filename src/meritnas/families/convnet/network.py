"""Networks for images in stages as a build function: what is asked, in which order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import meritnas.nn as mn
from meritnas.families.convnet.blocks import (
    BLOCKS,
    LEAST_SQUEEZED,
    SQUEEZE,
    Block,
    convolutions,
    squeezed_channels,
)

SIZE, STAGE, DEPTH, BLOCK, WIDTH = "size", "stage", "depth", "block", "width"
"""Decisions; all but the first are followed by the number of the stage, from 1."""

NO, YES = "no", "yes"

LEAST_STAGES = 2
"""Further stages may be absent."""

Side = tuple[int, int]
"""Height and width of images."""


def stages_network(
    pick: mn.Pick,
    image: Sequence[int],
    outputs: int,
    *,
    sizes: Sequence[Side],
    stages: Sequence[tuple[Sequence[int], Sequence[str], Sequence[int]]],
) -> nn.Module:
    """Stages of equal blocks, half the size from stage to stage, and a linear layer on their means.

    Args:
        pick: is asked.
        image: (channels, height, width) of what comes in.
        outputs: how many numbers come out.
        sizes: (height, width) that images may be scaled to; the first is as they are.
        stages: (how many blocks, which, how wide) to choose from, of each stage that there may be.
    """

    def rest(number: int, before: Any) -> nn.Module:
        """What follows so many stages."""

        def ending() -> nn.Module:
            return named(
                pool=nn.AdaptiveAvgPool2d(1), flat=nn.Flatten(), output=mn.Linear(before, outputs)
            )

        def deeper() -> nn.Module:
            depths, blocks, widths = stages[number]
            here = number + 1
            depth = pick.depth(f"{DEPTH}{here}", *depths)
            kinds = {name: partial(make_block, BLOCKS[name]) for name in blocks}
            block = pick.one(f"{BLOCK}{here}", **kinds)
            width = pick.width(f"{WIDTH}{here}", *widths)

            def made(place: int) -> nn.Module:
                return block(width if place else before, width, first=place == 0)

            halve = {"halve": nn.MaxPool2d(2, ceil_mode=True)} if number else {}
            return named(**halve, blocks=mn.Stack(depth, made), rest=rest(here, width))

        if number == len(stages):
            return ending()
        if number < LEAST_STAGES:
            return deeper()
        found: nn.Module = pick.one(f"{STAGE}{number + 1}", **{NO: ending, YES: deeper})()
        return found

    as_it_is, *smaller = sizes
    scales = {f"{h}x{w}": partial(nn.AdaptiveAvgPool2d, (h, w)) for h, w in smaller}
    scale = pick.one(SIZE, **{"x".join(map(str, as_it_is)): nn.Identity}, **scales)()
    return named(scale=scale, rest=rest(0, image[0]))


def named(**parts: nn.Module) -> nn.Sequential:
    """One after the other."""
    return nn.Sequential(OrderedDict(parts))


def make_block(block: Block, inputs: Any, width: Any, first: bool) -> nn.Module:
    """One block of a stage; see `Block`."""
    shapes = convolutions(block, inputs, width, first)
    convs = {name: conv_norm(*shape) for name, shape in shapes.items()}
    squeeze = Squeeze(squeezed_channels(block, width)) if block.squeeze else nn.Identity()
    if block.kind == "plain":
        return named(**convs, relu=nn.ReLU(), squeeze=squeeze)
    if block.kind == "residual":
        return ResidualBlock(convs, squeeze)
    return InvertedBlock(convs, squeeze, first)


def conv_norm(inputs: Any, outputs: Any, kernel: int, groups: Any) -> nn.Sequential:
    """A convolution that keeps the size, and a batch norm."""
    conv = mn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups, bias=False)
    return named(conv=conv, norm=mn.BatchNorm2d(outputs, weights_alone=True))


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, convs: Mapping[str, nn.Module], squeeze: nn.Module) -> None:
        super().__init__()
        self.conv1, self.conv2, self.squeeze = convs["conv1"], convs["conv2"], squeeze
        self.shortcut = convs.get("shortcut", nn.Identity())
        self.drop_path: nn.Module = nn.Identity()

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, width, h, w]."""
        branch = self.squeeze(self.conv2(torch.relu(self.conv1(inputs))))
        return torch.relu(self.drop_path(branch) + self.shortcut(inputs))


class InvertedBlock(nn.Module):
    """More channels, a convolution of each by itself, fewer channels."""

    def __init__(self, convs: Mapping[str, nn.Module], squeeze: nn.Module, first: bool) -> None:
        super().__init__()
        self.expand, self.each, self.squeeze = convs["expand"], convs["each"], squeeze
        self.project, self.first = convs["project"], first
        self.drop_path: nn.Module = nn.Identity()

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, width, h, w]."""
        inside = torch.relu(self.each(torch.relu(self.expand(inputs))))
        found: Tensor = self.project(self.squeeze(inside))
        return found if self.first else inputs + self.drop_path(found)


class Squeeze(nn.Module):
    """Scales channels by what all of them are on average (squeeze-and-excitation)."""

    def __init__(self, channels: Any) -> None:
        super().__init__()
        hidden = mn.maximum(LEAST_SQUEEZED, channels // SQUEEZE)
        self.down, self.up = mn.Conv2d(channels, hidden, 1), mn.Conv2d(hidden, channels, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, h, w] -> the same shape."""
        means = inputs.mean((2, 3), keepdim=True)
        return inputs * torch.sigmoid(self.up(nn.functional.silu(self.down(means))))
