"""How many positions joined features keep, where nobody has decided that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from meritnas.cost.reduced import cheapest
from meritnas.families.fusion.family import FusionSpace

MANY, FEW = 16, 4

_ROOM = 2
"""The cheapest network takes at most a limit divided by this, so that there is much to choose."""


def with_positions(make: Callable[[int], FusionSpace], limits: Mapping[str, int]) -> FusionSpace:
    """Cells whose features have 16 positions where maps do and the limits allow it; else 4.

    Maps do where the last feature of a modality has 16 positions or more. Limits allow it where
    the cheapest network takes at most half of each; not where a cost is known by measuring only.

    Args:
        make: positions -> the cells.
        limits: by the cost's name.
    """
    large = make(MANY)
    last = {feature.modality: feature.shape for feature in large.features}
    kept = any(len(shape) > 1 and math.prod(shape[1:]) >= MANY for shape in last.values())
    return large if kept and _leaves_room(large, limits) else make(FEW)


def _leaves_room(family: FusionSpace, limits: Mapping[str, int]) -> bool:
    return all(
        name in family.costs and _ROOM * cheapest(family.costs[name], family.space)[0] <= most
        for name, most in limits.items()
    )
