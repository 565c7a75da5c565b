"""Weights in whole numbers of 8 bits: which of them, how they are packed, what that takes.

A matrix or kernel W becomes round(W / s) in [-127, 127] with a scale for each output channel,
s_c = max |W_c| / 127 (symmetric, per channel; Jacob et al., 2018, arXiv:1712.05877, Krishnamoorthi,
2018, arXiv:1806.08342). The file has four tensors, one after the other in them what a network's
`state_dict` has, by name; which program reads it knows names and shapes. So its size is a sum over
tensors, whatever they are called.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from meritnas.devices.placement import on_cpu
from meritnas.errors import UsageError

FILE = "weights-int8.safetensors"

COST = "size-int8"
"""What the size of such a file is called among costs."""

UNIT = ("kB as stored in int8", 1000)

INT8, SCALES, FLOAT32, BYTES = "int8", "scales", "float32", "bytes"
"""The tensors of the file: whole numbers, their scales, other weights, and the bytes of what norms
keep and of whatever has another type."""

_COUNTS = "num_batches_tracked"
"""What norms keep for training alone: it is left out."""

_STATISTICS = ("running_mean", "running_var")
_LARGEST = 127
_SCALE_BYTES = 4
_MOST_BYTES = 10**10 - 1
"""Of a file; its header has no longer numbers."""


def part_of(name: str, shape: Sequence[int], kind: torch.dtype = torch.float32) -> str:
    """The tensor of the file that a network's tensor goes into; empty where it is left out."""
    if name.endswith(_COUNTS):
        return ""
    if kind != torch.float32 or name.endswith(_STATISTICS):
        return BYTES
    # With one number a channel its scale would take more than is saved.
    return INT8 if len(shape) > 1 and math.prod(shape) >= 2 * shape[0] else FLOAT32


def tensor_bytes(*shape: int, name: str = "", kind: torch.dtype = torch.float32) -> int:
    """What a network's tensor takes in the file."""
    part, numbers = part_of(name, shape, kind), math.prod(shape)
    if part == INT8:
        return numbers + _SCALE_BYTES * shape[0]
    return numbers * kind.itemsize if part else 0


def packed_bytes(state: Mapping[str, Tensor]) -> int:
    """What tensors take in the file; only names, shapes and types matter."""
    return sum(tensor_bytes(*t.shape, name=name, kind=t.dtype) for name, t in state.items())


def header_bytes() -> int:
    """What the file has beside the bytes of its tensors, at most."""
    most = _MOST_BYTES
    header = {
        name: {"dtype": kind, "shape": [most], "data_offsets": [most, most]}
        for name, kind in ((INT8, "I8"), (SCALES, "F32"), (FLOAT32, "F32"), (BYTES, "U8"))
    }
    # Eight bytes tell the header's length, and blanks fill it up to a whole number of words.
    return 8 + -(-len(json.dumps(header, separators=(",", ":"))) // 8) * 8


def packed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of the file.

    Raises:
        UsageError: A weight is no finite number.
    """
    parts: dict[str, list[Tensor]] = {INT8: [], SCALES: [], FLOAT32: [], BYTES: []}
    for name, given in sorted(state.items()):
        tensor = on_cpu(given.detach()).contiguous()
        part = part_of(name, tensor.shape, tensor.dtype)
        if part == INT8:
            numbers, scales = _quantised(tensor)
            parts[INT8].append(numbers.flatten())
            parts[SCALES].append(scales)
        elif part == FLOAT32:
            parts[FLOAT32].append(tensor.flatten())
        elif part:
            parts[BYTES].append(tensor.reshape(-1).view(torch.uint8))
    return {name: torch.cat(own) for name, own in parts.items() if own}


def _quantised(weight: Tensor) -> tuple[Tensor, Tensor]:
    """[channels, ...] -> whole numbers of the same shape, scales [channels]."""
    rows = weight.flatten(1)
    scales = rows.abs().amax(dim=1) / _LARGEST
    if not scales.isfinite().all():
        raise UsageError("a weight is no finite number; leave out --quantize")
    divisors = torch.where(scales > 0, scales, torch.ones_like(scales))
    numbers = (rows / divisors[:, None]).round().clamp(-_LARGEST, _LARGEST)
    return numbers.to(torch.int8).reshape(weight.shape), scales
