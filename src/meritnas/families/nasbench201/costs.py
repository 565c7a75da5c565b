"""What networks of NAS-Bench-201's cells cost: what is counted, and what is timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.image_size import ImageShape
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes, packed_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.nasbench201.child import EDGES, STAGES
from meritnas.families.operations import CHILD, NONE, SKIP, halved, make_operation
from meritnas.families.stored_size import file_bytes, stored_bytes

if TYPE_CHECKING:
    from meritnas.families.nasbench201.family import Nasbench201Space


def counted_costs(family: Nasbench201Space) -> dict[str, CostTerms]:
    """All costs that need no measurement; an edge costs its operation in each cell."""
    with torch.device("meta"):
        bare = family.bare()
    params = {name: 0 for names in family.options for name in names}
    flops, bytes_, int8 = dict(params), dict(params), dict(params)
    for stage, shape in enumerate(stage_shapes(family), start=1):
        for name in params.keys() - {NONE}:
            with torch.device("meta"):
                operation = make_operation(name, shape[0], 1, CHILD)
            params[name] += family.cells * parameters(operation)
            flops[name] += family.cells * multiply_adds(operation, shape)
            int8[name] += family.cells * packed_bytes(operation.state_dict())
            bytes_[name] += sum(
                stored_bytes(operation.state_dict(), f"stage{stage}cell{cell}.edges.0.")
                for cell in range(1, family.cells + 1)
            )
    rest = file_bytes(len(EDGES)) + stored_bytes(bare.state_dict())
    found = {
        "params": _terms(family, parameters(bare), params, "parameters"),
        "flops": _terms(family, multiply_adds(bare, family.image), flops, "multiply-adds"),
    }
    as_in_the_table = {
        f"{name}-paper": replace(terms, unit=f"{terms.unit} with dead operations")
        for name, terms in found.items()
    }
    size = _terms(family, rest, bytes_, "kB as stored", 1000)
    small = _terms(family, header_bytes() + packed_bytes(bare.state_dict()), int8, *UNIT)
    return {**found, "size": size, INT8_SIZE: small, **as_in_the_table}


def timed_terms(family: Nasbench201Space, device: Device) -> CostTerms:
    """Microseconds for one image: of operations, and of a network that skips all.

    Args:
        family: whose networks.
        device: where they are to run.
    """
    names = sorted({name for row in family.options for name in row} - {NONE, SKIP})
    parts: dict[tuple[str, int], tuple[nn.Module, Tensor]] = {
        (name, stage): (make_operation(name, shape[0], 1, CHILD), torch.zeros(1, *shape))
        for name in names
        for stage, shape in enumerate(stage_shapes(family))
    }
    parts[NONE, 0] = family.bare(), torch.zeros(1, *family.image)
    spent = microseconds_on(parts, device)
    each = {
        name: family.cells * sum(spent[name, stage] for stage in range(STAGES)) for name in names
    }
    return _terms(family, spent[NONE, 0], {NONE: 0, SKIP: 0, **each}, "ms an image", 1000)


def stage_shapes(family: Nasbench201Space) -> list[ImageShape]:
    """What the cells of each stage read."""
    found, (channels, height, width) = [], (family.channels, *family.image[1:])
    for _ in range(STAGES):
        found.append((channels, height, width))
        channels, height, width = 2 * channels, halved(height), halved(width)
    return found


def _terms(
    family: Nasbench201Space, constant: int, each: Mapping[str, int], unit: str, a_unit: int = 1
) -> CostTerms:
    single = tuple(np.array([each[name] for name in names]) for names in family.options)
    return chain_terms(constant, single, (None,) * (len(single) - 1), unit, a_unit)
