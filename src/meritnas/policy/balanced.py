"""Uniform draws in which every option comes up equally often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.policy.neighbours import is_free


def balanced_draws(feasible: FeasibleSet, n: int, rng: np.random.Generator) -> np.ndarray:
    """Feasible architectures [n, decisions], all equally likely, balanced where nothing limits.

    Without a limit or a rule each option of a decision is drawn equally often, as nearly as n
    allows, so that an option's company differs less than in independent draws. Under one, draws
    are independent.
    """
    if is_free(feasible):
        return _balanced(feasible.space.sizes, n, rng)
    return feasible.condition([np.zeros(size) for size in feasible.space.sizes]).sample(n, rng)


def _balanced(sizes: Sequence[int], n: int, rng: np.random.Generator) -> np.ndarray:
    rows = []
    for size in sizes:
        rounds = [rng.permutation(size) for _ in range(-(-n // size))]
        rows.append(rng.permutation(np.concatenate(rounds)[:n]))
    return np.stack(rows, axis=1)
