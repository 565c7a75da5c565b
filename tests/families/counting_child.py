"""What counting a real child gives, without the library's own counters."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def counted_params(child: nn.Module) -> int:
    """The definition."""
    return sum(param.numel() for param in child.parameters())


def counted_flops(child: nn.Module, image: tuple[int, int, int]) -> int:
    """Multiply-adds as torch's own counter finds them; a linear layer's biases count, too."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        child.eval()(torch.zeros(1, *image))
    child.train()
    biases = sum(part.out_features for part in child.modules() if isinstance(part, nn.Linear))
    return counter.get_total_flops() // 2 + biases
