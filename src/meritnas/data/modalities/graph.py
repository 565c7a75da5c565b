"""What a graph for several modalities reads: encoded rows, as its network does."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from meritnas.data.kind import GraphInputs
from meritnas.data.modalities.encoder import ModalityEncoder


def modality_graph_inputs(encoder: ModalityEncoder) -> GraphInputs:
    """`rows` float32 [n, width], encoded."""

    def sample(n: int, seed: int) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        return (torch.rand(n, encoder.layout.width, generator=generator),)

    return GraphInputs(nn.Identity(), {"rows": {0: "n"}}, sample, {})
