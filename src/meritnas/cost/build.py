"""Builds the decision diagram of all architectures that keep the limits."""

from __future__ import annotations

import math
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
    moments: Sequence[ReducedCost] = (),
) -> Diagram:
    """The minimal diagram of all valid architectures whose reduced costs stay within their slack.

    Args:
        costs: one for each limit on a sum, at least one, all read in the same way.
        max_transitions: the most entries that a level may hold before states are merged.
        order: the numbers of the decisions, as they are read.
        rule: what makes an architecture valid; None where everything does.
        moments: of limits on maxima, one for each sum. These are many, and each has few values.

    Raises:
        DiagramTooLarge: a level would hold more.
    """
    if rule is None:
        rule = tuple(np.zeros((1, step.shape[1]), dtype=np.int64) for step in costs[0].steps)
    _check_keys(costs, rule)
    merged = _merge_equal_states(_forward_levels([*costs, *moments], rule, max_transitions))
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
    if any(cost.slack < 0 for cost in costs):
        return _nothing(nexts)
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
        widths = [len(first_of_class), rule[i].shape[0], *(cost.slack + 1 for cost in costs)]
        found, level = _number_states([class_of[context], after, *left], widths, alive)
        if not len(found[0]):  # nothing keeps all limits at once
            return _nothing(nexts)
        levels.append(level)
        classes_found, states, *slacks = found
        before = first_of_class[classes_found]
    return levels


def _nothing(nexts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The levels of a diagram without any path."""
    return [np.empty((0, step.shape[1]), dtype=np.int32) for step in nexts]


def _check_keys(costs: Sequence[ReducedCost], rule: Levels) -> None:
    """Complain where the states of limits on sums are more than one number can tell apart."""
    most = max(len(level) for level in rule)
    for cost in costs:
        most *= cost.slack + 1
    if most.bit_length() > _KEY_BITS:
        raise DiagramTooLarge


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
    parts: Sequence[np.ndarray], widths: Sequence[int], alive: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """The distinct states reached, part by part, and a level that points to their positions.

    Args:
        parts: of the state after each transition, all of one shape.
        widths: the number of values that each part may have.
        alive: which transitions there are.
    """
    key_count = math.prod(widths)
    if key_count.bit_length() > _KEY_BITS:
        first, numbers = _distinct([part[alive] for part in parts], widths)
        found = [part[alive][first] for part in parts]
    else:
        keys = parts[0]
        for part, width in zip(parts[1:], widths[1:], strict=True):
            keys = keys * width + part
        if key_count <= _LOOKUP_KEYS:
            marked = np.zeros(key_count, dtype=bool)
            marked[keys[alive]] = True
            distinct = np.flatnonzero(marked)
            position = np.cumsum(marked, dtype=np.int32) - 1
            numbers = position[keys[alive]]
        else:
            distinct, numbers = np.unique(keys[alive], return_inverse=True)
        found = []
        for width in reversed(widths[1:]):
            found.insert(0, distinct % width)
            distinct = distinct // width
        found.insert(0, distinct)
    level = np.full(alive.shape, len(found[0]), dtype=np.int32)
    level[alive] = numbers.reshape(-1)
    return found, level


def _distinct(parts: Sequence[np.ndarray], widths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(where each distinct state is first, the number of each), of parts too wide for one key."""
    keys, bound = np.zeros(len(parts[0]), dtype=np.int64), 1
    for part, width in zip(parts, widths, strict=True):
        if (bound * width).bit_length() > _KEY_BITS:
            distinct, keys = np.unique(keys, return_inverse=True)
            keys, bound = keys.reshape(-1), len(distinct)
        keys, bound = keys * width + part, bound * width
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return first, numbers


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
