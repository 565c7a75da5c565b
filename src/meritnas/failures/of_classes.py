"""How often classes are taken for each other, and how good each is recognised."""

from __future__ import annotations

from typing import Any

import numpy as np

from meritnas.data.task import Task
from meritnas.failures.curves import precision_recall, roc
from meritnas.failures.per_class import scores_of_each

MOST_CLASSES = 24
"""The confusion of more is kept for those that are confused most often."""

_PAIRS = 12


def of_classes(
    task: Task, chances: np.ndarray, codes: np.ndarray, guess: np.ndarray
) -> dict[str, Any]:
    """Confusion, scores of each class, and of two classes the curves over all thresholds.

    Args:
        task: of two or more classes.
        chances: the probability of each class [n, classes].
        codes: the true class of each row [n].
        guess: the class that is answered [n].
    """
    names = list(map(str, task.classes))
    size = len(names)
    counts = np.bincount(codes * size + guess, minlength=size * size).reshape(size, size)
    hits, support, given = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    found = {
        "each": scores_of_each(names, hits, support, given),
        "confusion": _confusion(names, counts),
        "pairs": _pairs(names, counts),
    }
    if task.kind != "binary":
        return found
    two = {"positive": names[task.positive], "threshold": task.threshold}
    truth = codes == task.positive
    if truth.all() or not truth.any():  # no curve without both classes
        return {**found, **two}
    scores = chances[:, task.positive]
    marked = guess == task.positive
    return {
        **found,
        **two,
        "roc": roc(truth, scores, marked),
        "precision_recall": precision_recall(truth, scores, marked),
    }


def _confusion(names: list[str], counts: np.ndarray) -> dict[str, Any]:
    """Rows by true class [k, k] of at most so many classes, and how many are left out."""
    missed = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    kept = np.sort(np.argsort(-missed, kind="stable")[:MOST_CLASSES])
    return {
        "names": [names[place] for place in kept],
        "counts": counts[np.ix_(kept, kept)].tolist(),
        "left_out": len(names) - len(kept),
    }


def _pairs(names: list[str], counts: np.ndarray) -> list[list[Any]]:
    """(true class, answer, how often) of what is confused most often."""
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_PAIRS]
    places = [divmod(int(place), len(names)) for place in order]
    return [[names[i], names[j], int(wrong[i, j])] for i, j in places if wrong[i, j]]
