"""The arithmetic of an image encoder as a graph can hold it, and random pixels to try it on."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.kind import GraphInputs


def image_graph_inputs(encoder: ImageEncoder) -> GraphInputs:
    """`pixels` uint8 [n, h, w, channels]."""
    shape = (encoder.height, encoder.width, encoder.channels)

    def sample(n: int, seed: int) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        return (torch.randint(256, (n, *shape), generator=generator).to(torch.uint8),)

    return GraphInputs(Pixels(encoder), {"pixels": {0: "n"}}, sample, {})


class Pixels(nn.Module):
    """Pixels uint8 [n, h, w, channels] -> images float32 [n, channels, h, w], standardised."""

    mean: Tensor
    std: Tensor

    def __init__(self, encoder: ImageEncoder) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(encoder.mean), persistent=False)
        self.register_buffer("std", torch.tensor(encoder.std), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        """As `ImageEncoder.transform`, but for the last digit."""
        return ((pixels.float() / 255 - self.mean) / self.std).permute(0, 3, 1, 2)
