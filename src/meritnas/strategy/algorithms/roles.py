"""Which of the roles of a fusion cell its edges should play."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.space.decision import TOGETHER
from meritnas.space.space import Space

Picks = tuple[int, ...]


def best_roles(
    feasible: FeasibleSet, picks: Picks, loss: Callable[[Picks], float]
) -> tuple[Picks, float]:
    """An architecture of the same players, whose roles lose less, and what it loses.

    Options tagged `together` are one player, so its credit says that an edge is worth having and
    not which of its roles, x or y of a cell, it should play. Here two decisions exchange roles
    wherever that keeps the rules and limits and lowers the loss, one pair after the other.
    """
    best, least = picks, loss(picks)
    for first, second in combinations(range(len(picks)), 2):
        other = _exchanged(feasible.space, best, first, second)
        if other is None or not _fits(feasible, other):
            continue
        found = loss(other)
        if found < least:
            best, least = other, found
    return best, least


def _exchanged(space: Space, picks: Picks, first: int, second: int) -> Picks | None:
    """The picks with the roles of two decisions exchanged; None where there are none."""
    mine, others = (space.decisions[i].options[picks[i]] for i in (first, second))
    if mine.name == others.name or not all(TOGETHER in each.tags for each in (mine, others)):
        return None
    found = list(picks)
    for i, wanted in ((first, others.name), (second, mine.name)):
        names = [option.name for option in space.decisions[i].options]
        if wanted not in names:
            return None
        found[i] = names.index(wanted)
    return tuple(found)


def _fits(feasible: FeasibleSet, picks: Picks) -> bool:
    row = np.array([picks])
    return bool(feasible.space.valid(row)[0] and feasible.contains(row)[0])
