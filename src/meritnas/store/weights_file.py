"""Weights as a safetensors file has them."""

from __future__ import annotations

from collections.abc import Mapping

from safetensors.torch import save
from torch import Tensor

from meritnas.devices.placement import on_cpu


def weights_bytes(weights: Mapping[str, Tensor], metadata: dict[str, str]) -> bytes:
    """The file, wherever the weights are."""
    return save({key: on_cpu(value.contiguous()) for key, value in weights.items()}, metadata)
