"""Builds the decision diagram of all architectures that keep the limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meritnas.cost.diagram import Diagram
from meritnas.cost.reduced import ReducedCost
from meritnas.space.rule import Levels

# Up to this many possible keys a lookup table is faster than sorting.
_LOOKUP_KEYS = 8_000_000
_KEY_BITS = 62


class DiagramTooLarge(Exception):
    """A level of the diagram would hold more transitions than allowed."""


def build_diagram(
    costs: Sequence[ReducedCost],
    max_transitions: int,
    order: tuple[int, ...],
    rule: Levels | None = None,
) -> Diagram:
    """The minimal diagram of all valid architectures whose reduced costs stay within their slack.

    Args:
        costs: one for each limit, all read in the same way.
        max_transitions: the most entries that a level may hold before states are merged.
        order: the numbers of the decisions, as they are read.
        rule: what makes an architecture valid; None where everything does.

    Raises:
        DiagramTooLarge: a level would hold more.
    """
    if rule is None:
        rule = tuple(np.zeros((1, step.shape[1]), dtype=np.int64) for step in costs[0].steps)
    merged = _merge_equal_states(_forward_levels(costs, rule, max_transitions))
    # Numbers of the size that numpy indexes with, so that no pass has to convert them.
    return Diagram(tuple(level.astype(np.intp) for level in merged), order)


def _forward_levels(
    costs: Sequence[ReducedCost], rule: Levels, max_transitions: int
) -> list[np.ndarray]:
    """Level by level, all (class of the context, state of the rule, slack of each limit).

    Two exact merges keep the levels small: contexts that cost the same from here on are one class,
    and slack beyond what the most expensive completion needs is cut off.
    """
    nexts = costs[0].nexts
    classes = _context_classes(costs)
    before = np.zeros(1, dtype=np.int64)  # the context of each state, as its class' first
    states = np.zeros(1, dtype=np.int64)  # of the rule
    slacks = [np.array([cost.slack], dtype=np.int64) for cost in costs]
    levels = []
    for i, following in enumerate(nexts):
        if len(before) * following.shape[1] > max_transitions:
            raise DiagramTooLarge
        left = [s[:, None] - c.steps[i][before] for s, c in zip(slacks, costs, strict=True)]
        after = rule[i][states]
        if i + 1 == len(nexts):  # where a valid architecture ends
            after = np.where(after == 0, 0, -1)
        alive = np.logical_and.reduce([after >= 0, *(part >= 0 for part in left)])
        context = following[before]
        left = [
            np.minimum(part, c.most_ahead[i][context]) for part, c in zip(left, costs, strict=True)
        ]
        first_of_class, class_of = classes[i]
        widths = [rule[i].shape[0], *(cost.slack + 1 for cost in costs)]
        parts = [after, *left]
        found, level = _number_states(parts, class_of[context], len(first_of_class), widths, alive)
        if not len(found):  # nothing keeps all limits at once
            return [np.empty((0, step.shape[1]), dtype=np.int32) for step in nexts]
        levels.append(level)
        slacks = []
        for width in reversed(widths):
            slacks.insert(0, found % width)
            found = found // width
        states = slacks.pop(0)
        before = first_of_class[found]
    return levels


def _context_classes(costs: Sequence[ReducedCost]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Contexts after each level, grouped by all that follows: (first of a class, class of each)."""
    only = np.zeros(1, dtype=np.int64)
    found = [(only, only)]
    nexts = costs[0].nexts
    for i in range(len(nexts) - 1, 0, -1):
        ahead = found[0][1][nexts[i]]
        rows = np.concatenate([ahead, *(cost.steps[i] for cost in costs)], axis=1)
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        found.insert(0, (first.astype(np.int64), inverse.reshape(-1).astype(np.int64)))
    return found


def _number_states(
    left: Sequence[np.ndarray],
    context_class: np.ndarray,
    classes: int,
    widths: Sequence[int],
    alive: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct states reached, as keys, and a level that points to their positions."""
    key_count = classes
    for width in widths:
        key_count *= width
    if key_count.bit_length() > _KEY_BITS:
        raise DiagramTooLarge
    keys = context_class
    for part, width in zip(left, widths, strict=True):
        keys = keys * width + part
    if key_count <= _LOOKUP_KEYS:
        marked = np.zeros(key_count, dtype=bool)
        marked[keys[alive]] = True
        found = np.flatnonzero(marked)
        position = np.cumsum(marked, dtype=np.int32) - 1
        numbers = position[keys[alive]]
    else:
        found, numbers = np.unique(keys[alive], return_inverse=True)
    level = np.full(alive.shape, len(found), dtype=np.int32)
    level[alive] = numbers.reshape(-1)
    return found, level


def _merge_equal_states(levels: Sequence[np.ndarray]) -> list[np.ndarray]:
    """From the last level back, make states with equal transitions one, and drop dead ones."""
    # What each state of the next level became; the last entry stands for the dead transition.
    became = np.array([0, 1], dtype=np.int32)
    merged: list[np.ndarray] = []
    dead = 1
    for level in reversed(levels):
        renamed = became[level]
        alive = (renamed != dead).any(axis=1)
        groups, first = _equal_rows(renamed[alive])
        merged.insert(0, renamed[alive][first])
        dead = len(first)
        became = np.full(len(level) + 1, dead, dtype=np.int32)
        became[:-1][alive] = groups
    return merged


def _equal_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(group of each row, first row of each group), by random 64-bit sums that are then checked."""
    rng = np.random.default_rng(0)
    while True:
        weights = rng.integers(1, 2**63, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
        sums = (rows.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
        _, first, groups = np.unique(sums, return_index=True, return_inverse=True)
        groups = groups.reshape(-1)
        if np.array_equal(rows[first][groups], rows):
            return groups.astype(np.int32), first
