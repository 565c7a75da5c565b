"""What a graph of a language model reads: words, one window after the other."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from meritnas.data.kind import GraphInputs
from meritnas.data.texts.encoder import TextEncoder

_STEPS = 5


def text_graph_inputs(encoder: TextEncoder) -> GraphInputs:
    """`words` int64 [n, steps]; the network goes on from a state."""

    def sample(n: int, seed: int) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        return (torch.randint(encoder.inputs, (n, _STEPS + seed), generator=generator),)

    return GraphInputs(nn.Identity(), {"words": {0: "n", 1: "steps"}}, sample, {}, remembers=True)
