"""Options that fit while all other decisions stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meritnas.cost.feasible import FeasibleSet


def is_free(feasible: FeasibleSet) -> bool:
    """Whether every combination of options is feasible: neither a limit nor a rule."""
    return not feasible.limits and feasible.space.rule is None


def fitting_options(picks: np.ndarray, feasible: FeasibleSet) -> list[np.ndarray]:
    """For each decision booleans [options]: what is feasible there while the other picks stay.

    Args:
        picks: [decisions], feasible.
        feasible: the set that has to be kept.
    """
    sizes = feasible.space.sizes
    if is_free(feasible):
        return [np.ones(size, dtype=bool) for size in sizes]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    changed = np.tile(picks, (len(owner), 1))
    changed[np.arange(len(owner)), owner] = np.concatenate([np.arange(size) for size in sizes])
    return np.split(feasible.contains(changed), np.cumsum(sizes)[:-1])


def restricted(rows: Sequence[np.ndarray], kept: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Probabilities given that the option is one of those kept; a row for each decision.

    A row is zero where nothing that is kept has any probability.
    """
    found = []
    for row, keep in zip(rows, kept, strict=True):
        left = np.where(keep, row, 0.0)
        total = left.sum()
        found.append(left / total if total > 0 else left)
    return found
