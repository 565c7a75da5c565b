"""What networks of DARTS' cells cost: what is counted, and what is timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.darts.child import EDGES
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes, packed_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.operations import CHILD, NONE, make_operation
from meritnas.families.stored_size import file_bytes, stored_bytes

if TYPE_CHECKING:
    from meritnas.families.darts.family import DartsSpace


class _Operation(NamedTuple):
    """An operation of a shape: all that are alike are counted, and timed, once."""

    name: str
    stride: int
    shape: tuple[int, int, int]

    def made(self) -> nn.Module:
        return make_operation(self.name, self.shape[0], self.stride, CHILD)


class _Counts(NamedTuple):
    """What an operation costs; `bytes` is with names that begin with nothing, `int8` in int8."""

    params: int
    flops: int
    bytes: int
    tensors: int
    int8: int


def counted_costs(family: DartsSpace) -> dict[str, CostTerms]:
    """All costs that need no measurement: of each edge's operation in each cell that has it."""
    with torch.device("meta"):
        bare = family.bare()
    params, flops, size, int8 = (_rows(family) for _ in range(4))
    known: dict[_Operation, _Counts] = {}
    for decision, option, operation, prefix in _uses(family):
        if operation not in known:
            known[operation] = _counted(operation)
        own = known[operation]
        params[decision][option] += own.params
        flops[decision][option] += own.flops
        size[decision][option] += own.bytes + own.tensors * len(prefix)
        int8[decision][option] += own.int8
    none = (None,) * (len(params) - 1)
    rest = file_bytes(len(params)) + stored_bytes(bare.state_dict())
    macs = multiply_adds(bare, family.image)
    return {
        "params": chain_terms(parameters(bare), params, none, "parameters"),
        "flops": chain_terms(macs, flops, none, "multiply-adds"),
        "size": chain_terms(rest, size, none, "kB as stored", 1000),
        INT8_SIZE: chain_terms(header_bytes() + packed_bytes(bare.state_dict()), int8, none, *UNIT),
    }


def timed_terms(family: DartsSpace, device: Device) -> CostTerms:
    """Microseconds for one image: of operations, and of a network without any.

    Args:
        family: whose networks.
        device: where they are to run.
    """
    parts: dict[_Operation, tuple[nn.Module, Tensor]] = {}
    for _, _, operation, _ in _uses(family):
        if operation not in parts:
            parts[operation] = operation.made(), torch.zeros(1, *operation.shape)
    whole = _Operation(NONE, 1, family.image)
    parts[whole] = family.bare(), torch.zeros(1, *family.image)
    spent = microseconds_on(parts, device)
    rows = _rows(family)
    for decision, option, operation, _ in _uses(family):
        rows[decision][option] += spent[operation]
    return chain_terms(spent[whole], rows, (None,) * (len(rows) - 1), "ms an image", 1000)


def _rows(family: DartsSpace) -> list[np.ndarray]:
    return [np.zeros(len(row), dtype=np.int64) for row in family.options]


def _uses(family: DartsSpace) -> Iterator[tuple[int, int, _Operation, str]]:
    """(decision, option, its operation, what its weights are called) in every cell."""
    for cell, (plan, start) in enumerate(zip(family.plans, family.starts, strict=True)):
        for edge in range(len(EDGES)):
            for option, name in enumerate(family.options[start + edge]):
                if name != NONE:
                    operation = _Operation(name, plan.stride(edge), plan.edge_shape(edge))
                    yield start + edge, option, operation, f"cells.{cell}.edges.{edge}."


def _counted(operation: _Operation) -> _Counts:
    with torch.device("meta"):
        made = operation.made()
    weights = made.state_dict()
    macs = multiply_adds(made, operation.shape)
    stored, in_int8 = stored_bytes(weights), packed_bytes(weights)
    return _Counts(parameters(made), macs, stored, len(weights), in_int8)
