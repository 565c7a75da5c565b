"""In which order decisions are read, and what must be remembered of those that were."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError

_MOST_ENTRIES = 20_000_000
"""Of the tables of one level: more would not fit into memory beside the diagram."""

Group = frozenset[int]


@dataclass(frozen=True)
class Reading:
    """Decisions one after the other, with what matters of those before.

    A decision is open from when it is read until the last decision that shares a factor with it is.
    The answers to all open decisions are the context: given that, what costs are still to come does
    not depend on anything else that was read (elimination of variables; Dechter, 1999). In a chain
    of neighbours the context is the last answer.

    Attributes:
        sizes: the number of options of each decision.
        order: the numbers of all decisions, as they are read.
        groups: the decisions of each factor.
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    groups: frozenset[Group]

    @staticmethod
    def of(costs: Sequence[CostTerms], sizes: tuple[int, ...], order: Sequence[int]) -> Reading:
        """How these costs are read in this order."""
        return Reading(sizes, tuple(order), _groups(costs))

    @cached_property
    def _open(self) -> list[tuple[int, ...]]:
        """What is open before each level, and after the last: numbers as they were read."""
        return [tuple(each) for each in _open_decisions(self.order, self.groups)]

    @cached_property
    def _before(self) -> list[np.ndarray]:
        """The contexts before each level: answers [contexts, open decisions]."""
        found = []
        for level, numbers in enumerate(self._open[:-1]):
            count = math.prod(self.sizes[i] for i in numbers)
            if count * self.sizes[self.order[level]] > _MOST_ENTRIES:
                raise SpaceError(
                    f"{len(numbers)} decisions matter together for what the next one costs, which "
                    f"makes {count:,} combinations; give them fewer options, or let fewer "
                    "decisions interact"
                )
            shape = [self.sizes[i] for i in numbers]
            found.append(np.indices(shape).reshape(len(shape), count).T)
        return found

    @cached_property
    def nexts(self) -> tuple[np.ndarray, ...]:
        """For each level [contexts before, options]: the context after."""
        found = []
        for level, number in enumerate(self.order):
            known = [*self._open[level], number]
            after = np.zeros((len(self._before[level]), self.sizes[number]), dtype=np.int64)
            for each in self._open[level + 1]:
                after = after * self.sizes[each] + self._answers(level, known.index(each))
            found.append(after)
        return tuple(found)

    def steps(self, terms: CostTerms) -> tuple[np.ndarray, ...]:
        """For each level [contexts before, options]: what an option adds; they sum to the cost.

        A factor is paid for when the last of its decisions is read.
        """
        place = {number: level for level, number in enumerate(self.order)}
        steps = [
            np.zeros((len(contexts), self.sizes[number]), dtype=np.int64)
            for contexts, number in zip(self._before, self.order, strict=True)
        ]
        steps[0] += terms.constant
        for factor in terms.factors:
            level = max(place[i] for i in factor.decisions)
            known = [*self._open[level], self.order[level]]
            answers = (self._answers(level, known.index(i)) for i in factor.decisions)
            steps[level] += factor.table[tuple(np.broadcast_arrays(*answers))]
        return tuple(steps)

    def _answers(self, level: int, place: int) -> np.ndarray:
        """Answers to one of the open decisions, or to the level's own, which comes after them."""
        if place < len(self._open[level]):
            return self._before[level][:, place, None]
        return np.arange(self.sizes[self.order[level]])[None, :]


def best_reading(costs: Sequence[CostTerms], sizes: tuple[int, ...]) -> Reading:
    """An order in which little must be remembered, where no rule asks for one.

    As decisions are numbered, unless always taking the decision that leaves the fewest contexts
    needs less at its widest level.
    """
    groups = _groups(costs)
    usual = tuple(range(len(sizes)))
    greedy = _greedy_order(sizes, groups)
    narrower = _widest(greedy, sizes, groups) < _widest(usual, sizes, groups)
    return Reading(sizes, greedy if narrower else usual, groups)


def _groups(costs: Iterable[CostTerms]) -> frozenset[Group]:
    return frozenset(frozenset(one.decisions) for terms in costs for one in terms.factors)


def _open_decisions(order: Sequence[int], groups: Collection[Group]) -> list[list[int]]:
    """What is open before each decision of an order, and after the last."""
    found: list[list[int]] = [[]]
    for level, number in enumerate(order):
        found.append(_still_open([*found[-1], number], set(order[level + 1 :]), groups))
    return found


def _still_open(read: Sequence[int], later: set[int], groups: Collection[Group]) -> list[int]:
    """Those of what was read that share a factor with what comes later."""
    return [i for i in read if any(i in group and group & later for group in groups)]


def _widest(order: Sequence[int], sizes: Sequence[int], groups: Collection[Group]) -> int:
    """The most entries that a level's tables have."""
    opened = _open_decisions(order, groups)
    return max(
        math.prod(sizes[i] for i in before) * sizes[number]
        for before, number in zip(opened, order, strict=False)
    )


def _greedy_order(sizes: Sequence[int], groups: Collection[Group]) -> tuple[int, ...]:
    """Always the decision after which the fewest contexts are left, the first of equal ones."""
    order: list[int] = []
    held: list[int] = []
    left = set(range(len(sizes)))
    while left:
        after = {i: _still_open([*held, i], left - {i}, groups) for i in sorted(left)}
        contexts = {i: math.prod(sizes[k] for k in kept) for i, kept in after.items()}
        chosen = min(contexts, key=contexts.__getitem__)
        order.append(chosen)
        left.remove(chosen)
        held = after[chosen]
    return tuple(order)
