"""What networks cost: weights and multiply-adds, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from meritnas.devices.placement import zeros_on


@runtime_checkable
class CountsItself(Protocol):
    """A layer with products that are no convolution or linear layer inside it."""

    def multiply_adds(self, outputs: Tensor) -> int:
        """Its multiply-adds for these outputs."""
        ...


def parameters(module: nn.Module) -> int:
    """The number of weights of a network."""
    return sum(param.numel() for param in module.parameters())


def multiply_adds(module: nn.Module, *shapes: Sequence[int], device: str = "meta") -> int:
    """The multiply-adds of a network's convolutions and linear layers for one input.

    Layers that count themselves, as sparse coding and attention do, add what they say. Biases of
    linear layers count as one each, as NAS-Bench-201 counts; norms, pooling and activations
    do not count.

    Args:
        module: what is counted.
        shapes: of its inputs, without the batch.
        device: where it is; on `meta` nothing is computed.
    """
    total = 0

    def count(layer: nn.Module, _: tuple[Tensor, ...], outputs: Tensor) -> None:
        nonlocal total
        if isinstance(layer, nn.Conv2d):
            kernel = layer.kernel_size[0] * layer.kernel_size[1]
            total += outputs.numel() * (layer.in_channels // layer.groups) * kernel
        elif isinstance(layer, nn.Linear):
            total += layer.in_features * layer.out_features
            total += layer.out_features if layer.bias is not None else 0
        elif isinstance(layer, nn.Conv1d):
            total += outputs.numel() * (layer.in_channels // layer.groups) * layer.kernel_size[0]
        elif isinstance(layer, CountsItself):
            total += layer.multiply_adds(outputs)

    hooks = [layer.register_forward_hook(count) for layer in module.modules()]
    try:
        with torch.no_grad():
            module.eval()(*(zeros_on(device, 1, *shape) for shape in shapes))
    finally:
        for hook in hooks:
            hook.remove()
    return total
