"""The best path of a diagram under scores of options and of pairs of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from meritnas.cost.diagram import Diagram


def best_in_pairs(
    diagram: Diagram,
    scores: Sequence[np.ndarray],
    pairs: Mapping[tuple[int, int], np.ndarray],
    most: int,
) -> tuple[int, ...] | None:
    """The path with the largest sum of scores, exactly; None where too much must be remembered.

    Of beginnings that lead to the same state and have the same answers to all decisions that form
    a pair with a later one, only the best can be the beginning of the best path.

    Args:
        diagram: of what may be chosen.
        scores: a row of numbers for each decision.
        pairs: for two decisions, the first one's number smaller, [options, options].
        most: beginnings to be kept at a level.
    """
    place = {number: level for level, number in enumerate(diagram.order)}
    lasts = list(range(len(diagram.order)))
    for one, other in pairs:
        first, second = sorted((place[one], place[other]))
        lasts[first] = max(lasts[first], second)
    states, sums = np.zeros(1, dtype=np.int64), np.zeros(1)
    begun = np.empty((1, 0), dtype=np.int64)
    for level, (number, after) in enumerate(zip(diagram.order, diagram.levels, strict=True)):
        gained = sums[:, None] + scores[number][None, :]
        for before, known in enumerate(diagram.order[:level]):
            table = _table(pairs, known, number)
            if table is not None:
                gained += table[begun[:, before]]
        following = after[states]
        rows, options = np.nonzero(following != diagram.states_after(level))
        if not len(rows):
            return None
        begun = np.column_stack([begun[rows], options])
        states, sums = following[rows, options], gained[rows, options]
        opened = [k for k in range(level + 1) if lasts[k] > level]
        kept = _best_of_equal(np.column_stack([states, begun[:, opened]]), sums)
        if len(kept) > most:
            return None
        states, sums, begun = states[kept], sums[kept], begun[kept]
    best = begun[int(np.argmax(sums))]
    return tuple(best[np.argsort(diagram.order)].tolist())


def _table(
    pairs: Mapping[tuple[int, int], np.ndarray], known: int, number: int
) -> np.ndarray | None:
    """[options of the one that is known, options of the other]; None for no such pair."""
    if known < number:
        return pairs.get((known, number))
    found = pairs.get((number, known))
    return None if found is None else found.T


def _best_of_equal(keys: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Of rows with equal keys the one with the largest sum, the first of these, in their order."""
    _, groups = np.unique(keys, axis=0, return_inverse=True)
    order = np.lexsort((np.arange(len(sums)), -sums, groups.reshape(-1)))
    ordered = groups.reshape(-1)[order]
    first = np.append(True, ordered[1:] != ordered[:-1])
    return np.sort(order[first])
