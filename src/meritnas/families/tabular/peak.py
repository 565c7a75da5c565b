"""The memory that networks for tables need at once, as `families.live_memory` counts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT, peak_bytes
from meritnas.families.tabular.supernet import embed_table

if TYPE_CHECKING:
    from meritnas.families.tabular.family import TabularSpace


def peak_cost(family: TabularSpace) -> LargestSum:
    """Of every linear layer, what it reads and makes; norms and ReLU work where that stands."""
    sizes = family.space.sizes
    rows = [BYTES_A_NUMBER * np.array(widths, dtype=np.int64) for widths in family.widths]
    factors = [
        Factor((0,), rows[0] + BYTES_A_NUMBER * family.inputs.width),
        *(
            Factor((i, i + 1), np.add.outer(before, after))
            for i, (before, after) in enumerate(pairwise(rows))
        ),
        Factor((len(rows) - 1,), rows[-1] + BYTES_A_NUMBER * family.outputs),
    ]
    moments = [CostTerms(sizes, 0, (factor,), PEAK_UNIT, 1000) for factor in factors]
    if family.inputs.cardinalities:
        moments.append(CostTerms(sizes, _embedding(family), (), PEAK_UNIT, 1000))
    return LargestSum(sizes, tuple(moments), PEAK_UNIT, 1000)


def _embedding(family: TabularSpace) -> int:
    columns = family.inputs.numbers + len(family.inputs.cardinalities)
    return peak_bytes(embed_table(family.inputs), [torch.zeros(1, columns)])
