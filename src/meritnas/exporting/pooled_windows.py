"""Adaptive max pooling in a form that ONNX knows."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn


class PooledWindows(nn.Module):
    """What adaptive max pooling does, window by window: ONNX has no such operation.

    Args:
        sizes: of the last dimensions afterwards.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self._sizes = sizes

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, *any] -> [n, channels, *sizes]."""
        for place, size in enumerate(self._sizes, start=inputs.dim() - len(self._sizes)):
            whole = inputs.shape[place]
            windows = []
            for number in range(size):
                start, end = number * whole // size, -(-(number + 1) * whole // size)
                window = inputs.narrow(place, start, end - start)
                windows.append(window.amax(dim=place, keepdim=True))
            inputs = torch.cat(windows, dim=place)
        return inputs


def with_pooled_windows(network: nn.Module) -> nn.Module:
    """The network itself, or a copy in which no max pooling is adaptive."""
    adaptive = (nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d)
    if not any(isinstance(part, adaptive) for part in network.modules()):
        return network
    found = copy.deepcopy(network)
    for name, part in list(found.named_modules()):
        if isinstance(part, nn.AdaptiveMaxPool1d):
            found.set_submodule(name, PooledWindows((int(part.output_size),)))  # type: ignore[arg-type]
        elif isinstance(part, nn.AdaptiveMaxPool2d):
            found.set_submodule(name, PooledWindows(tuple(part.output_size)))  # type: ignore[arg-type]
    return found
