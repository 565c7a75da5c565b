"""The small backbone for pictures: two stages of convolution."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from meritnas.families.operations import Norms, halved

_WIDTHS = (16, 32)


class Convolutions(nn.Sequential):
    """Two stages of 3x3 convolution, batch norm, ReLU and pooling; each gives a feature.

    Args:
        image: (channels, height, width) of what comes in.
        norms: how batch norms are made.
    """

    def __init__(self, image: tuple[int, ...], norms: Norms) -> None:
        super().__init__(
            *(
                nn.Sequential(
                    nn.Conv2d(before, width, 3, padding=1, bias=False),
                    norms(width),
                    nn.ReLU(),
                    nn.MaxPool2d(2, ceil_mode=True),
                )
                for before, width in zip((image[0], *_WIDTHS), _WIDTHS, strict=False)
            )
        )

    @staticmethod
    def shapes(image: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """What an image (channels, height, width) becomes."""
        found: list[tuple[int, ...]] = []
        height, width = image[1:]
        for channels in _WIDTHS:
            height, width = halved(height), halved(width)
            found.append((channels, height, width))
        return tuple(found)

    def forward(self, images: Tensor) -> list[Tensor]:
        """[n, channels, h, w] -> [n, 16, h / 2, w / 2] and [n, 32, h / 4, w / 4], rounded up."""
        found = []
        state = images.contiguous(memory_format=torch.channels_last)
        for stage in self:
            state = stage(state)
            found.append(state)
        return found
