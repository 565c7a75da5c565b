"""The operations of cells for images, and how their norms are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.errors import SpaceError

NONE = "none"
SKIP = "skip_connect"


class Norms:
    """How the norms of a network are made.

    A network's own have weights and running statistics. In the cells of a supernet they have
    neither: weights would let an operation rescale itself, which makes its gate meaningless, and
    running statistics would be a mixture over very different paths, so the batch's own are used.
    """

    def __init__(self, *, affine: bool, running: bool) -> None:
        self._affine = affine
        self._running = running

    def __call__(self, channels: int) -> nn.BatchNorm2d:
        """A batch norm of so many channels."""
        return nn.BatchNorm2d(channels, affine=self._affine, track_running_stats=self._running)

    def sequence(self, channels: int) -> nn.BatchNorm1d:
        """The same for [n, channels, length]."""
        return nn.BatchNorm1d(channels, affine=self._affine, track_running_stats=self._running)

    def layer(self, *shape: int) -> nn.LayerNorm:
        """A layer norm over the last dimensions, which have this shape."""
        return nn.LayerNorm(shape, elementwise_affine=self._affine)


CHILD = Norms(affine=True, running=True)
SEARCHED = Norms(affine=False, running=False)
SKELETON = Norms(affine=True, running=False)
"""Of a supernet's parts that are not searched: the stem, reductions, the head."""


class ReluConvNorm(nn.Sequential):
    """ReLU, convolution without bias, batch norm."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, norms: Norms) -> None:
        padding = kernel // 2
        super().__init__()
        self.relu = nn.ReLU()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.norm = norms(outputs)


class SeparableConv(nn.Sequential):
    """ReLU, depthwise, 1x1, batch norm, twice; the stride is in the first half (DARTS)."""

    def __init__(self, channels: int, kernel: int, stride: int, norms: Norms) -> None:
        super().__init__(
            _depthwise(channels, kernel, stride, 1, norms),
            _depthwise(channels, kernel, 1, 1, norms),
        )


def _depthwise(
    channels: int, kernel: int, stride: int, dilation: int, norms: Norms
) -> nn.Sequential:
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.ReLU(),
        nn.Conv2d(
            channels, channels, kernel, stride, padding, dilation, groups=channels, bias=False
        ),
        nn.Conv2d(channels, channels, 1, bias=False),
        norms(channels),
    )


class FactorizedReduce(nn.Module):
    """Half the size: ReLU, two 1x1 convolutions of stride 2, the second a pixel further, norm.

    At odd sizes the second reads zeros beyond the border, so that both give equally many pixels.

    The stride is in which pixels the convolutions get, which is the same: oneDNN's own (torch
    2.13) writes past its memory when it differentiates one of at most 4 channels, channels last.
    """

    def __init__(self, inputs: int, outputs: int, norms: Norms) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, bias=False)
        self.odd = nn.Conv2d(inputs, outputs - outputs // 2, 1, bias=False)
        self.norm = norms(outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, outputs, ceil(h / 2), ceil(w / 2)]."""
        active = self.relu(inputs)
        even = active[:, :, ::2, ::2]
        odd = F.pad(active, (-1, 1, -1, 1))[:, :, ::2, ::2]
        found: Tensor = self.norm(torch.cat([self.even(even), self.odd(odd)], dim=1))
        return found


class Noise(nn.Module):
    """Normal noise of the shape that an operation would give (RobustDARTS, space S4)."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, inputs: Tensor) -> Tensor:
        """N(0, 1), drawn from torch's own generator."""
        return torch.randn_like(inputs[:, :, :: self.stride, :: self.stride])


def _skip(channels: int, stride: int, norms: Norms) -> nn.Module:
    return nn.Identity() if stride == 1 else FactorizedReduce(channels, channels, norms)


_MAKERS: Mapping[str, Callable[[int, int, Norms], nn.Module]] = {
    "skip_connect": _skip,
    "avg_pool_3x3": lambda _, stride, __: nn.AvgPool2d(3, stride, 1, count_include_pad=False),
    "max_pool_3x3": lambda _, stride, __: nn.MaxPool2d(3, stride, 1),
    "nor_conv_1x1": lambda c, stride, norms: ReluConvNorm(c, c, 1, stride, norms),
    "nor_conv_3x3": lambda c, stride, norms: ReluConvNorm(c, c, 3, stride, norms),
    "sep_conv_3x3": lambda c, stride, norms: SeparableConv(c, 3, stride, norms),
    "sep_conv_5x5": lambda c, stride, norms: SeparableConv(c, 5, stride, norms),
    "dil_conv_3x3": lambda c, stride, norms: _depthwise(c, 3, stride, 2, norms),
    "dil_conv_5x5": lambda c, stride, norms: _depthwise(c, 5, stride, 2, norms),
    "noise": lambda _, stride, __: Noise(stride),
}
"""Channels, stride and norms -> the operation."""


def make_operation(name: str, channels: int, stride: int, norms: Norms) -> nn.Module:
    """An operation of a cell, [n, channels, h, w] -> [n, channels, h / stride, w / stride]."""
    if name not in _MAKERS:
        raise SpaceError(f"no operation '{name}'; there are {NONE}, {', '.join(_MAKERS)}")
    return _MAKERS[name](channels, stride, norms)


def halved(size: int) -> int:
    """What a stride of 2 leaves of a height or width."""
    return (size + 1) // 2
