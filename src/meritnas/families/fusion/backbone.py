from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from meritnas.data.modalities.backbone_features import as_features
from meritnas.data.modalities.row_layout import Shape
from meritnas.errors import SpaceError
from meritnas.families.family import seeded
from meritnas.families.image_size import halved
from meritnas.families.operations import Norms

CONV = "conv"
"""The name of the small backbone for images."""

Backbone = Callable[[], nn.Module]
"""Makes a network, a fresh one at every call, that reads the features of a modality, each
[n, *shape], and gives a list of tensors [n, ...]: the features that cells see instead."""

_WIDTHS = (16, 32)


class Convolutions(nn.Sequential):
    """Two stages of 3x3 convolution, batch norm, ReLU and pooling; each gives a feature.

    Args:
        image: (channels, height, width) of what comes in.
        norms: how batch norms are made.
    """

    def __init__(self, image: Shape, norms: Norms) -> None:
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
    def shapes(image: Shape) -> tuple[Shape, ...]:
        """What an image (channels, height, width) becomes."""
        found: list[Shape] = []
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


def shapes_from(make: Backbone, shapes: Sequence[Shape], modality: str) -> tuple[Shape, ...]:
    """What a user's backbone makes of features of these shapes, found by running it on zeros."""
    with seeded(0), torch.no_grad():
        network = make()
        if not isinstance(network, nn.Module):
            raise SpaceError(
                f"the backbone of '{modality}' must make a torch Module, got "
                f"{type(network).__name__}"
            )
        network.eval()
        found = as_features(network(*(torch.zeros(1, *shape) for shape in shapes)), modality)
    return tuple(tuple(feature.shape[1:]) for feature in found)
