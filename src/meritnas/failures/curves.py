"""ROC and precision-recall curves of two classes, with the point of the chosen threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

_MOST_POINTS = 200


def roc(truth: np.ndarray, scores: np.ndarray, marked: np.ndarray) -> dict[str, Any]:
    """The share of positives found against that of negatives taken for positive.

    Args:
        truth: whether each row is positive [n], with rows of both.
        scores: how positive the network takes it to be [n].
        marked: whether it is answered so, by the chosen threshold [n].

    Returns:
        points [(false positive rate, true positive rate, threshold)], the one chosen, the area.
    """
    hits, taken, cuts = _counts(truth, scores)
    positives, negatives = truth.sum(), (~truth).sum()
    across, up = (taken - hits) / negatives, hits / positives
    area = float(np.sum(np.diff(across) * (up[1:] + up[:-1]) / 2))
    chosen = [(marked & ~truth).sum() / negatives, (marked & truth).sum() / positives]
    return {"points": _kept(across, up, cuts), "chosen": _rounded(chosen), "area": round(area, 6)}


def precision_recall(truth: np.ndarray, scores: np.ndarray, marked: np.ndarray) -> dict[str, Any]:
    """The share of answers that are right against the share of positives found.

    Returns:
        points [(recall, precision, threshold)], the one chosen (None where nothing is answered
        so), the average precision, and the share of positives, which guessing would have.
    """
    hits, taken, cuts = _counts(truth, scores)
    recall, precision = hits[1:] / truth.sum(), hits[1:] / taken[1:]
    area = float(np.sum(np.diff(np.append(0.0, recall)) * precision))
    found = (marked & truth).sum()
    chosen = [found / truth.sum(), found / marked.sum()] if marked.any() else None
    return {
        "points": _kept(recall, precision, cuts[1:]),
        "chosen": None if chosen is None else _rounded(chosen),
        "area": round(area, 6),
        "guess": round(float(truth.mean()), 6),
    }


def _counts(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positives and rows from each different score on, the first of them none; and the scores."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    ends = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    hits = np.append(0, np.cumsum(truth[order])[ends])
    return hits, np.append(0, ends + 1), np.append(1.0, ranked[ends])


def _kept(x: np.ndarray, y: np.ndarray, cuts: np.ndarray) -> list[list[float]]:
    """At most so many points, the first and the last among them."""
    count = min(len(x), _MOST_POINTS)
    places = np.unique(np.linspace(0, len(x) - 1, count).round().astype(int))
    return [_rounded([x[k], y[k], cuts[k]]) for k in places]


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
