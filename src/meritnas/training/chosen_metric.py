"""The metric that a user wants finalists to be chosen by, and the threshold that goes with it."""

from __future__ import annotations

import numpy as np
from sklearn import metrics
from torch import Tensor

from meritnas.data.metric_names import QUANTILE, THRESHOLDED, is_loss, quantile_of
from meritnas.data.task import Task
from meritnas.devices.placement import on_cpu

_UNBALANCED = 0.4
"""With a smaller share of the rarer of two classes a threshold is chosen."""

_NEAREST = 1e-9
"""Of a threshold to 0 and to 1."""


def metric_value(task: Task, outputs: Tensor, target: Tensor) -> float:
    """What a task's metric comes to, on the scale of the original target.

    Args:
        task: with a metric.
        outputs: [n, outputs] of a network, finite.
        target: [n], encoded.
    """
    truth = on_cpu(target).numpy()
    if task.kind == "regression":
        found = on_cpu(outputs[:, 0].detach()).double().numpy()
        return _of_numbers(task.metric, truth.astype(np.float64), found, task.scale)
    chances = on_cpu(task.probabilities(outputs.detach())).double().numpy()
    chances /= chances.sum(axis=1, keepdims=True)
    return _of_classes(task, truth.astype(np.int64), chances)


def judged(task: Task, outputs: Tensor, target: Tensor) -> float:
    """The same, turned so that less is better."""
    value = metric_value(task, outputs, target)
    return value if is_loss(task.metric) else -value


def chosen_threshold(task: Task, outputs: Tensor, target: Tensor) -> float:
    """From which probability of the second class on it is the answer, by some rows.

    It is 0.5 but for two classes of which one is rare, and a metric that depends on it; then that
    with which the metric is best, in the middle between two rows' probabilities.

    Args:
        task: with or without a metric.
        outputs: [n, 1] of a network, finite.
        target: [n], encoded.
    """
    if task.kind != "binary" or task.metric not in THRESHOLDED:
        return 0.5
    truth = on_cpu(target).numpy() > 0
    share = float(truth.mean())
    if not 0 < min(share, 1 - share) < _UNBALANCED:
        return 0.5
    chances = on_cpu(outputs[:, 0].detach()).double().sigmoid().numpy()
    order = np.argsort(-chances, kind="stable")
    ranked, hits = chances[order], np.append(0, np.cumsum(truth[order]))
    values = _at_every_cut(task, hits, int(truth.sum()))
    above, below = np.append(1.0, ranked), np.append(ranked, 0.0)
    values[above == below] = -np.inf  # nothing lies between equal ones
    middle = (above + below) / 2
    best = np.flatnonzero(values >= values.max())
    nearest = best[np.argmin(np.abs(middle[best] - 0.5))]
    return float(np.clip(middle[nearest], _NEAREST, 1 - _NEAREST))


def _at_every_cut(task: Task, hits: np.ndarray, positives: int) -> np.ndarray:
    """The metric [n + 1] where the k likeliest rows get the second class, of which hits[k] are."""
    n = len(hits) - 1
    taken = np.arange(n + 1)
    negatives = n - positives
    spared = negatives - (taken - hits)
    if task.metric == "accuracy":
        return (hits + spared) / n
    if task.metric == "balanced_accuracy":
        return (hits / positives + spared / negatives) / 2
    if task.positive:
        return 2 * hits / (taken + positives)
    return 2 * spared / (n - taken + negatives)


def _of_numbers(metric: str, truth: np.ndarray, found: np.ndarray, scale: float) -> float:
    missed = (truth - found) * scale
    if metric == "r2":
        return float(metrics.r2_score(truth, found))
    if metric == "rmse":
        return float(np.sqrt(np.square(missed).mean()))
    if metric == "mae":
        return float(np.abs(missed).mean())
    if not metric.startswith(QUANTILE):
        raise AssertionError(f"no metric {metric}")
    level = quantile_of(metric)
    return float(np.maximum(level * missed, (level - 1) * missed).mean())


def _of_classes(task: Task, truth: np.ndarray, chances: np.ndarray) -> float:
    metric, two = task.metric, task.kind == "binary"
    guess = (chances[:, 1] > task.threshold).astype(int) if two else chances.argmax(axis=1)
    if metric == "accuracy":
        return float(np.mean(guess == truth))
    if metric == "balanced_accuracy":
        return float(np.mean([np.mean(guess[truth == one] == one) for one in np.unique(truth)]))
    if metric == "log_loss":
        return float(metrics.log_loss(truth, chances, labels=range(chances.shape[1])))
    asked = [task.positive] if two else range(chances.shape[1])
    if metric == "f1":
        own = [metrics.f1_score(truth == k, guess == k, zero_division=0) for k in asked]
        return float(np.mean(own))
    area = metrics.roc_auc_score if metric == "roc_auc" else metrics.average_precision_score
    # A class that none or all of the rows have has no such area.
    told = [k for k in asked if 0 < np.count_nonzero(truth == k) < len(truth)]
    return float(np.mean([area(truth == k, chances[:, k]) for k in told])) if told else 0.0
