"""The stored size and the latency of plain networks for several modalities."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.family import seeded
from meritnas.families.fusion.plain_child import Head
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes, packed_bytes, tensor_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.stored_size import (
    BYTES_A_WEIGHT,
    entry_bytes,
    stored_bytes,
    text_file_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meritnas.families.fusion.plain import PlainFusion

CONCATENATION = "concatenation"
LATE = "late-averaging"

_DIMENSIONS = {
    **{"0.weight": 2, "0.bias": 1, "1.weight": 1, "1.bias": 1, "1.running_mean": 1},
    **{"1.running_var": 1, "1.num_batches_tracked": 0, "4.weight": 2, "4.bias": 1},
}
"""Of what a head has in a file."""

_LARGEST = 99_999_999
"""No dimension has more digits."""


def stored_size(family: PlainFusion, widths: Sequence[int]) -> CostTerms:
    """Bytes of the file of weights, with what norms keep beside theirs, at most.

    Args:
        family: whose networks.
        widths: of each modality's vector.
    """
    table = np.zeros(family.space.sizes, dtype=np.int64)
    for row, way in zip(table, family.options[0], strict=True):
        heads = _read(way, widths)
        names = len(f"heads.{len(heads)}.")
        beside = 8 + sum(  # a norm counts its steps
            entry_bytes("x" * names + name, (_LARGEST,) * sides)
            for name, sides in _DIMENSIONS.items()
        )
        for k, hidden in enumerate(map(int, family.options[1])):
            for inputs in heads:
                numbers = hidden * (inputs + 5 + family.outputs) + family.outputs
                row[k] += BYTES_A_WEIGHT * numbers + beside
    backbones = _backbones(family)
    rest = text_file_bytes(f"{LATE}({'9' * 5})") + stored_bytes(backbones, "reader.")
    return CostTerms(family.space.sizes, rest, (Factor((0, 1), table),), "kB as stored", 1000)


def int8_size(family: PlainFusion, widths: Sequence[int]) -> dict[str, CostTerms]:
    """Bytes of the file of 8-bit weights; nothing with a backbone that cannot leave as Python.

    Args:
        family: whose networks.
        widths: of each modality's vector.
    """
    if any(callable(own) for _, own in family.backbones):
        return {}
    table = np.zeros(family.space.sizes, dtype=np.int64)
    for row, way in zip(table, family.options[0], strict=True):
        heads = _read(way, widths)
        for k, hidden in enumerate(map(int, family.options[1])):
            own = 5 * tensor_bytes(hidden)  # the bias, and what the norm has
            own += tensor_bytes(family.outputs, hidden) + tensor_bytes(family.outputs)
            row[k] = sum(own + tensor_bytes(hidden, inputs) for inputs in heads)
    rest = header_bytes() + packed_bytes(_backbones(family))
    return {INT8_SIZE: CostTerms(family.space.sizes, rest, (Factor((0, 1), table),), *UNIT)}


def _backbones(family: PlainFusion) -> dict[str, Tensor]:
    """What reads modalities, as it stands in a file.

    A user's own backbone is made for real: its names are not known otherwise.
    """
    own = any(callable(each) for _, each in family.backbones)
    with seeded(0), torch.device("cpu" if own else "meta"):
        return family.reader().state_dict()


def timed_terms(family: PlainFusion, device: Device) -> CostTerms:
    """Microseconds for one sample: of what reads it, and of heads.

    Heads are timed at powers of two and the largest width; one between takes what the next does.

    Args:
        family: whose networks.
        device: where they are to run.
    """
    with seeded(0):
        reader = family.reader()
    hidden = [int(name) for name in family.options[1]]
    steps = sorted({min(max(hidden), 2 ** (one - 1).bit_length()) for one in hidden})
    ways = {way: _read(way, reader.widths) for way in family.options[0]}
    parts: dict[tuple[int, int], tuple[nn.Module, Tensor]] = {
        (inputs, step): (Head(inputs, step, family.outputs, 0.0), torch.zeros(1, inputs))
        for heads in ways.values()
        for inputs in heads
        for step in steps
    }
    parts[0, 0] = reader, torch.ones(1, family.layout.width)
    spent = microseconds_on(parts, device)
    table = np.zeros(family.space.sizes, dtype=np.int64)
    for row, (_, heads) in zip(table, ways.items(), strict=True):
        each = [sum(spent[inputs, step] for inputs in heads) for step in steps]
        rising = np.maximum.accumulate(each)  # what is wider is never said to be faster
        row[:] = [rising[bisect_left(steps, one)] for one in hidden]
    factors = (Factor((0, 1), table),)
    return CostTerms(family.space.sizes, spent[0, 0], factors, "ms a sample", 1000)


def _read(way: str, widths: Sequence[int]) -> list[int]:
    """What comes into each head."""
    return list(widths) if way == LATE else [sum(widths)]
