"""The best feasible architecture under effects of options and of pairs of options."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.pair_scores import best_in_pairs
from meritnas.cost.paths import all_paths
from meritnas.credit.path_regression import PathRegression
from meritnas.policy.neighbours import fitting_options
from meritnas.space.architecture import Architecture

MOST_LISTED = 200_000
"""Of so many architectures each one is looked at."""

MOST_BEGUN = 200_000
"""So many beginnings of networks are followed."""

_STARTS = 16


def best_with_pairs(
    feasible: FeasibleSet,
    fitted: PathRegression,
    known: Sequence[np.ndarray],
    most_listed: int = MOST_LISTED,
    most_begun: int = MOST_BEGUN,
) -> Architecture:
    """The feasible architecture that the regression expects most of.

    Exactly, by looking at all, where there are at most 200,000; the first one where several are
    equal. In larger sets exactly, too, where few beginnings of networks differ in what matters for
    their ends: where few pairs have effects, or decisions are few. Otherwise the best that was
    found from 17 starts, the best by main effects and 16
    drawn by them: all decisions at once move to what is best beside the others as they are,
    and where that does not help, the one whose change helps most. That may not be the best of all.

    Args:
        feasible: what may be chosen.
        fitted: effects.
        known: for each decision booleans [options]: what occurred in the regression. Anything else
            comes after all that did.
        most_listed: see above.
        most_begun: beginnings that are kept at a time.
    """
    space = feasible.space
    unknown = -1.0 - 2.0 * _most(fitted)
    mains = [np.where(seen, row, unknown) for row, seen in zip(fitted.mains, known, strict=True)]
    model = PathRegression(tuple(mains), fitted.errors, fitted.pairs, fitted.noise)
    if feasible.count() <= most_listed:
        paths = all_paths(feasible.diagram)
        return space.architecture(paths[int(np.argmax(model.predict(paths)))])
    exact = best_in_pairs(feasible.diagram, mains, _tables(model), most_begun)
    if exact is not None:
        return space.architecture(exact)
    scale = max(float(np.concatenate(fitted.mains).std()), 1e-12)
    law = feasible.condition([np.maximum(row, -_most(fitted)) / scale for row in mains])
    first = np.array(space.picks(feasible.best(mains)))
    starts = [first, *law.sample(_STARTS, np.random.default_rng(0))]
    ends = [_climbed(feasible, model, start) for start in starts]
    scores = model.predict(np.array(ends))
    return space.architecture(ends[int(np.argmax(scores))])


def _tables(model: PathRegression) -> dict[tuple[int, int], np.ndarray]:
    """Effects of the pairs that have any, by their decisions."""
    cuts = np.cumsum([0, *map(len, model.mains)])
    found = {}
    for i, j in combinations(range(len(model.mains)), 2):
        table = model.pairs[cuts[i] : cuts[i + 1], cuts[j] : cuts[j + 1]]
        if table.any():
            found[i, j] = table
    return found


def _most(fitted: PathRegression) -> float:
    """No architecture's expected score is further from 0."""
    mains = sum(float(np.abs(row).max()) for row in fitted.mains)
    return mains + len(fitted.mains) ** 2 * float(np.abs(fitted.pairs).max(initial=0.0))


def _climbed(feasible: FeasibleSet, model: PathRegression, start: np.ndarray) -> np.ndarray:
    """A feasible path that no change of one decision makes better, not worse than the start."""
    sizes = feasible.space.sizes
    cuts = np.cumsum(sizes)[:-1]
    starts = np.concatenate([[0], cuts]).astype(np.int64)
    mains = np.concatenate(model.mains)
    here = start
    while True:
        score = float(model.predict(here[None])[0])
        beside = np.split(mains + model.pairs[:, starts + here].sum(axis=1), cuts)
        there = np.array(feasible.space.picks(feasible.best(beside)))
        if model.predict(there[None])[0] > score + 1e-12:
            here = there
            continue
        fits = fitting_options(here, feasible)
        gains = [
            np.where(fit, row - row[pick], -np.inf)
            for row, fit, pick in zip(beside, fits, here, strict=True)
        ]
        tops = [float(row.max()) for row in gains]
        best = int(np.argmax(tops))
        if tops[best] <= 1e-12:
            return here
        here = here.copy()
        here[best] = int(np.argmax(gains[best]))
