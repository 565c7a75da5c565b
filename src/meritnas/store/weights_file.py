"""Weights as a safetensors file has them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from safetensors.torch import save
from torch import Tensor

from meritnas.devices.placement import on_cpu

_LENGTH = 8
"""Bytes that tell how long the header is."""


def weights_bytes(weights: Mapping[str, Tensor], metadata: dict[str, str]) -> bytes:
    """The file, wherever the weights are: the same bytes for the same weights and metadata."""
    written = save({key: on_cpu(value.contiguous()) for key, value in weights.items()}, metadata)
    return _in_order(written, metadata)


def _in_order(written: bytes, metadata: Mapping[str, str]) -> bytes:
    """The same file with its metadata as given: safetensors writes them in any order."""
    end = _LENGTH + int.from_bytes(written[:_LENGTH], "little")
    header = json.loads(written[_LENGTH:end])
    header["__metadata__"] = dict(metadata)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _LENGTH)
    return len(text).to_bytes(_LENGTH, "little") + text + written[end:]
