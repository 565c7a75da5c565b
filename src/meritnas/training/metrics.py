"""Scores of predictions, such as accuracy and RMSE."""

from __future__ import annotations

import math

import numpy as np
from sklearn import metrics
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.multilabel import LABEL_THRESHOLD
from meritnas.data.task import Task
from meritnas.devices.placement import on_cpu
from meritnas.errors import DivergedError
from meritnas.training.chosen_metric import metric_value
from meritnas.training.train import loss_on, outputs_of

_LARGEST_LOSS = 500.0
"""Perplexities beyond this have no meaning, and soon no number."""


def score(task: Task, outputs: Tensor, target: Tensor) -> dict[str, float]:
    """How good predictions are, on the scale of the original target.

    Args:
        task: what is predicted.
        outputs: [n, outputs] of a network.
        target: [n], encoded; of several labels [n, labels].

    Returns:
        Two classes: accuracy, balanced_error, log_loss, roc_auc. More classes: the same without
        roc_auc. Regression: r2, rmse. Several labels: f1_weighted, f1_macro, log_loss. Before all
        these the task's own metric, if it has one.

    Raises:
        DivergedError: An output is not finite, so that there is no score.
    """
    if not outputs.isfinite().all():
        raise DivergedError("the network's outputs are no finite numbers")
    scores = _usual_scores(task, outputs, target)
    if not task.metric:
        return scores
    return {task.metric: metric_value(task, outputs, target), **scores}


def _usual_scores(task: Task, outputs: Tensor, target: Tensor) -> dict[str, float]:
    """Those that all tasks of a kind have."""
    truth = on_cpu(target).numpy()
    if task.kind == "regression":
        found = on_cpu(outputs[:, 0]).numpy().astype(np.float64)
        return {
            "r2": float(metrics.r2_score(truth, found)),
            "rmse": float(np.sqrt(np.mean((found - truth) ** 2)) * task.scale),
        }
    if task.kind == "multilabel":
        return _score_labels(task, outputs, target)
    chances = on_cpu(task.probabilities(outputs)).numpy().astype(np.float64)
    chances /= chances.sum(axis=1, keepdims=True)
    guess = chances.argmax(axis=1)
    if task.kind == "binary":
        guess = (chances[:, 1] > task.threshold).astype(np.int64)
    codes = truth.astype(np.int64)
    result = {
        "accuracy": float(metrics.accuracy_score(codes, guess)),
        "balanced_error": 1.0 - _balanced_accuracy(codes, guess),
        "log_loss": float(metrics.log_loss(codes, chances, labels=range(chances.shape[1]))),
    }
    if task.kind == "binary" and len(np.unique(codes)) == 2:  # else there is no such area
        result["roc_auc"] = float(metrics.roc_auc_score(codes, chances[:, 1]))
    return result


def scores_on(module: nn.Module, task: Task, part: Part) -> dict[str, float]:
    """How good a network is on a part; of a language model its perplexity and log_loss."""
    if task.kind == "language":
        loss = loss_on(module, part, task.loss)
        if not math.isfinite(loss):
            raise DivergedError
        return {"perplexity": math.exp(min(loss, _LARGEST_LOSS)), "log_loss": loss}
    return score(task, outputs_of(module, part.inputs), part.target)


def main_metric(task: Task) -> str:
    """The score that a summary names first."""
    return task.metric or _usual_metric(task)


def _usual_metric(task: Task) -> str:
    names = {"regression": "r2", "language": "perplexity", "multilabel": "f1_weighted"}
    return names.get(task.kind, "accuracy")


def _score_labels(task: Task, outputs: Tensor, target: Tensor) -> dict[str, float]:
    """F1 over the labels, 0 for one that neither occurs nor is given; the loss over all."""
    truth = on_cpu(target).numpy() > 0
    guess = on_cpu(task.probabilities(outputs) > LABEL_THRESHOLD).numpy()
    ways = ("weighted", "macro")
    scores = [metrics.f1_score(truth, guess, average=way, zero_division=0) for way in ways]
    found = {f"f1_{way}": float(value) for way, value in zip(ways, scores, strict=True)}
    return {**found, "log_loss": float(task.loss(outputs.double(), target.double()))}


def score_name(task: Task) -> str:
    """What `Task.score` is."""
    return "probability of the next word" if task.kind == "language" else _usual_metric(task)


def _balanced_accuracy(truth: np.ndarray, guess: np.ndarray) -> float:
    """The mean over the classes present of the share recognised."""
    return float(np.mean([np.mean(guess[truth == label] == label) for label in np.unique(truth)]))
