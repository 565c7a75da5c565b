"""A network for images in stages of equal blocks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from meritnas.families.convnet.blocks import (
    BLOCKS,
    Block,
    convolutions,
    squeezed,
    squeezed_channels,
)
from meritnas.families.drop_path import DropPath


class ConvNetwork(nn.Sequential):
    """Stages of blocks, half the size from stage to stage, and a linear layer on their means.

    Args:
        stages: (name of its blocks, channels, how many blocks) of each stage.
        colours: channels of images.
        size: (height, width) that images are scaled to; None to leave them as they are.
        classes: how many numbers come out.
        drop_path: the share of residual branches that is left out while training.
    """

    def __init__(
        self,
        stages: Sequence[tuple[str, int, int]],
        colours: int,
        size: tuple[int, int] | None,
        classes: int,
        drop_path: float = 0.0,
    ) -> None:
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        if size is not None:
            parts["scale"] = nn.AdaptiveAvgPool2d(size)
        before = colours
        for stage, (name, width, depth) in enumerate(stages, start=1):
            if stage > 1:
                parts[f"halve{stage}"] = nn.MaxPool2d(2, ceil_mode=True)
            for number in range(1, depth + 1):
                made = make_block(BLOCKS[name], before, width, number == 1, drop_path)
                parts[f"stage{stage}block{number}"] = made
                before = width
        parts["pool"] = nn.AdaptiveAvgPool2d(1)
        parts["flat"] = nn.Flatten()
        parts["output"] = nn.Linear(before, classes)
        super().__init__(parts)


def make_block(block: Block, inputs: int, width: int, first: bool, drop_path: float) -> nn.Module:
    """One block of a stage; see `Block`."""
    shapes = convolutions(block, inputs, width, first)
    convs = {name: conv_norm(*shape) for name, shape in shapes.items()}
    channels = squeezed_channels(block, width)
    squeeze = Squeeze(channels) if channels else nn.Identity()
    if block.kind == "plain":
        return PlainBlock(convs, squeeze)
    if block.kind == "residual":
        return ResidualBlock(convs, squeeze, drop_path)
    return InvertedBlock(convs, squeeze, first, drop_path)


def conv_norm(inputs: int, outputs: int, kernel: int, groups: int) -> nn.Sequential:
    """A convolution that keeps the size, and a batch norm."""
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(OrderedDict[str, nn.Module](conv=conv, norm=nn.BatchNorm2d(outputs)))


class PlainBlock(nn.Module):
    """A convolution, batch norm, ReLU."""

    def __init__(self, convs: Mapping[str, nn.Module], squeeze: nn.Module) -> None:
        super().__init__()
        self.conv, self.squeeze, self.relu = convs["conv"], squeeze, nn.ReLU()

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, width, h, w]."""
        found: Tensor = self.squeeze(self.relu(self.conv(inputs)))
        return found


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(
        self, convs: Mapping[str, nn.Module], squeeze: nn.Module, drop_path: float
    ) -> None:
        super().__init__()
        self.conv1, self.conv2, self.squeeze = convs["conv1"], convs["conv2"], squeeze
        self.shortcut = convs.get("shortcut", nn.Identity())
        self.drop_path, self.relu = DropPath(drop_path), nn.ReLU()

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, width, h, w]."""
        branch = self.squeeze(self.conv2(self.relu(self.conv1(inputs))))
        found: Tensor = self.relu(self.drop_path(branch) + self.shortcut(inputs))
        return found


class InvertedBlock(nn.Module):
    """More channels, a convolution of each by itself, fewer channels."""

    def __init__(
        self, convs: Mapping[str, nn.Module], squeeze: nn.Module, first: bool, drop_path: float
    ) -> None:
        super().__init__()
        self.expand, self.each, self.squeeze = convs["expand"], convs["each"], squeeze
        self.project, self.first = convs["project"], first
        self.drop_path, self.relu = DropPath(drop_path), nn.ReLU()

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, width, h, w]."""
        inside = self.relu(self.each(self.relu(self.expand(inputs))))
        found: Tensor = self.project(self.squeeze(inside))
        return found if self.first else inputs + self.drop_path(found)


class Squeeze(nn.Module):
    """Scales channels by what all of them are on average (squeeze-and-excitation)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(channels, squeezed(channels), 1)
        self.up = nn.Conv2d(squeezed(channels), channels, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, h, w] -> the same shape."""
        means = inputs.mean((2, 3), keepdim=True)
        return inputs * torch.sigmoid(self.up(nn.functional.silu(self.down(means))))
