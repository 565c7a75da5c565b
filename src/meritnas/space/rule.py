"""Rules that say which combinations of options are architectures, as small automata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from meritnas.space.decision import Decision, Option

ABSENT = "absent"
"""The tag of an option that means: this edge is not there."""

X, Y = "x", "y"
"""The names of the options that make an edge the first or the second input of its node."""

Levels = tuple[np.ndarray, ...]
"""A rule as a small automaton that reads one decision after the other. For each decision an
integer array [states, options]: the state after an option, or -1 where it is forbidden. Reading
begins in state 0; an architecture is valid if it ends in state 0."""


class Rule(Protocol):
    """Which combinations of options are architectures at all."""

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """The rule for these decisions."""
        ...


@runtime_checkable
class OrderedRule(Rule, Protocol):
    """A rule that reads decisions in an order of its own, because its states are then fewer.

    Its levels are in this order, too.
    """

    def order(self, decisions: int) -> tuple[int, ...]:
        """The numbers of all decisions, of which there are so many, as they are read."""
        ...


@dataclass(frozen=True)
class PresentEdges:
    """Of the edges into every node exactly `count` are there (DARTS keeps two).

    Attributes:
        groups: the number of edges into each node; the decisions are these edges, node by node.
        count: how many of them are present, that is, answered by an option not tagged `absent`.
    """

    groups: tuple[int, ...]
    count: int

    def __str__(self) -> str:
        return f"exactly {self.count} of the edges into each node must be present"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """States count the present edges of the node that is being read."""
        found = []
        read = iter(decisions)
        for edges in self.groups:
            for edge in range(edges):
                decision = next(read)
                present = np.array([ABSENT not in option.tags for option in decision.options])
                after = np.arange(self.count + 1)[:, None] + present[None, :]
                after[after > self.count] = -1
                if edge == edges - 1:
                    after = np.where(after == self.count, 0, -1)
                found.append(after.astype(np.int64))
        return tuple(found)


@dataclass(frozen=True)
class InputPairs:
    """Every node reads two different edges, one as `x` and one as `y` (fusion cells).

    An edge that is present by an option of another name may be either: where edges have no such
    names, exactly two are present.

    Attributes:
        groups: the number of edges into each node; 0 for a decision that is no edge and free. The
            decisions are these edges and free ones, in this order.
    """

    groups: tuple[int, ...]

    def __str__(self) -> str:
        return "of the edges into each node exactly two must be present, one as x and one as y"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """States say what the node that is being read has: nothing, x, y, both."""
        found = []
        read = iter(decisions)
        for edges in self.groups:
            if edges == 0:
                free = np.full((4, len(next(read))), -1, dtype=np.int64)
                free[0] = 0
                found.append(free)
            for edge in range(edges):
                columns = [_after(option) for option in next(read).options]
                after = np.array(columns, dtype=np.int64).T
                if edge == edges - 1:
                    after = np.where(after == 3, 0, -1)
                found.append(after)
        return tuple(found)


def _after(option: Option) -> tuple[int, int, int, int]:
    """For nothing, x, y and both: what a node has with one more edge, or -1."""
    if ABSENT in option.tags:
        return 0, 1, 2, 3
    if option.name == X:
        return 1, -1, 3, -1
    if option.name == Y:
        return 2, 3, -1, -1
    return 1, 3, 3, -1


def of_equal_size(levels: Sequence[np.ndarray]) -> Levels:
    """Levels that number only the states they have, filled up with states that lead nowhere."""
    rows = max(len(level) for level in levels)
    return tuple(
        np.pad(level, ((0, rows - len(level)), (0, 0)), constant_values=-1) for level in levels
    )


def both(first: Levels, second: Levels) -> Levels:
    """What keeps two rules that read the same decisions in the same order.

    Only pairs of states that some answers lead to are numbered, anew for each decision.
    """
    pairs = np.zeros((1, 2), dtype=np.int64)
    found = []
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        after = np.stack([one[pairs[:, 0]], other[pairs[:, 1]]], axis=2)
        allowed = (after >= 0).all(axis=2)
        if i + 1 == len(first):  # where an architecture that keeps both ends
            allowed &= (after == 0).all(axis=2)
        # The first pair is that of the two first states, so that 0 is where both end.
        reached = np.concatenate([np.zeros((1, 2), dtype=np.int64), after[allowed]])
        pairs, numbers = np.unique(reached, axis=0, return_inverse=True)
        level = np.full(allowed.shape, -1, dtype=np.int64)
        level[allowed] = numbers.reshape(-1)[1:]
        found.append(level)
    return of_equal_size(found)


def ways(levels: Levels) -> list[np.ndarray]:
    """For each decision, and after the last: how many ways each state leaves to a valid end.

    Arrays [states] of Python's integers, which hold any number.
    """
    ahead = np.zeros(len(levels[0]) + 1, dtype=object)  # -1, what is forbidden, is the last
    ahead[0] = 1
    found = [ahead[:-1]]
    for level in reversed(levels):
        ahead = np.append(ahead[level].sum(axis=1), 0)
        found.append(ahead[:-1])
    return found[::-1]


def can_be_kept(levels: Levels) -> bool:
    """Whether there is any way to a valid end."""
    ahead = np.zeros(len(levels[0]) + 1, dtype=bool)
    ahead[0] = True
    for level in reversed(levels):
        ahead = np.append(ahead[level].any(axis=1), False)
    return bool(ahead[0])


def follows(levels: Levels, picks: np.ndarray) -> np.ndarray:
    """For picks [n, decisions] in the levels' order, which rows keep the rule: booleans [n]."""
    state = np.zeros(len(picks), dtype=np.int64)
    fits = np.ones(len(picks), dtype=bool)
    for i, level in enumerate(levels):
        state = level[state, picks[:, i]]
        fits &= state >= 0
        state = np.maximum(state, 0)
    return fits & (state == 0)
