"""What a search stands on: the space as it was asked for, and the part that keeps the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.families.family import Family
from meritnas.space.decision import Option
from meritnas.space.rule import ABSENT


@dataclass(frozen=True)
class Ground:
    """What a search stands on.

    Attributes:
        family: the whole space, as the user asked for it.
        feasible: the part of it that keeps the limits, of architectures that can learn anything.
        searched: the same without the options that occur in no feasible architecture. No
            choice is lost, and the supernet is smaller.
        searched_feasible: the feasible set in terms of `searched`.
    """

    family: Family
    feasible: FeasibleSet
    searched: Family
    searched_feasible: FeasibleSet


def make_ground(family: Family, limits: Mapping[str, int]) -> Ground:
    """Find the feasible set and drop what it can never use.

    Edges that are always there keep the option to be absent: it costs nothing, and mixtures of
    DARTS' operations have it everywhere.
    """
    useful = family.useful
    feasible = useful.within(limits)
    kept = [
        np.array([i for i, option in enumerate(decision.options) if i in used or _absent(option)])
        for decision, used in zip(
            family.space.decisions,
            map(set, map(np.ndarray.tolist, feasible.reachable())),
            strict=True,
        )
    ]
    searched = useful.restrict(kept)
    return Ground(family, feasible, searched, searched.within(limits))


def _absent(option: Option) -> bool:
    return ABSENT in option.tags
