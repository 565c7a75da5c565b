"""The memory that networks of NAS-Bench-201's cells need at once.

As `families.live_memory` counts. All that is made in a cell is as large as what comes in, so that
a cell takes so many times that; between cells nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch

from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT, Program, peak_bytes
from meritnas.families.nasbench201.child import EDGES
from meritnas.families.nasbench201.costs import stage_shapes
from meritnas.families.operations import NONE, SKIP
from meritnas.space.live_edges import live_edges

if TYPE_CHECKING:
    from meritnas.families.nasbench201.family import Nasbench201Space


def peak_cost(family: Nasbench201Space) -> LargestSum:
    """Of a network that skips all, and of the cell where its maps are largest."""
    sizes = family.space.sizes
    with torch.device("meta"):
        bare = peak_bytes(family.bare().eval(), [torch.zeros(1, *family.image)])
    largest = BYTES_A_NUMBER * max(int(np.prod(shape)) for shape in stage_shapes(family))
    kinds = [[_kind(name) for name in names] for names in family.options]
    table = np.array([maps_at_once(cell) for cell in product(*kinds)]).reshape(sizes)
    factor = Factor(tuple(range(len(EDGES))), largest * table.astype(np.int64))
    moments = (
        CostTerms(sizes, bare, (), PEAK_UNIT, 1000),
        CostTerms(sizes, 0, (factor,), PEAK_UNIT, 1000),
    )
    return LargestSum(sizes, moments, PEAK_UNIT, 1000)


def _kind(name: str) -> str:
    """Convolutions and pooling make one map each, and are the same here."""
    return name if name in (NONE, SKIP) else "other"


@cache
def maps_at_once(names: Sequence[str]) -> int:
    """How many maps a cell takes at once, what it reads included; dead operations are not run.

    Args:
        names: of the edges: `none`, `skip_connect`, or anything for what makes a map of its own.
    """
    live = live_edges(EDGES, [name != NONE for name in names])
    program = Program([1])
    nodes = [0]
    for number in (1, 2, 3):
        total: int | None = None
        for name, runs, (node, source) in zip(names, live, EDGES, strict=True):
            if node != number or not runs:
                continue
            made = nodes[source] if name == SKIP else program.make(1, nodes[source])
            total = made if total is None else program.make(1, total, made, elementwise=True)
        nodes.append(program.make(1) if total is None else total)
    found = program.moments([nodes[-1]])
    return max((one.own // BYTES_A_NUMBER + len(one.inputs) for one in found), default=1)
