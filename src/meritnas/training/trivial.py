"""How good answers are that look at no input."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.devices.placement import on_cpu
from meritnas.training.metrics import score

_LESS_IS_BETTER = ("log_loss", "balanced_error", "perplexity")


def trivial_scores(task: Task, train: Part, test: Part) -> dict[str, float]:
    """Scores on test rows of one answer to all of them, by what train rows say.

    Of a number the mean of the test rows, so that r2 is 0; of classes, labels and words how
    frequent each is, which makes the most frequent class the label.

    Args:
        task: what is predicted.
        train: rows whose answers are counted.
        test: rows that are answered, at least one.
    """
    if task.kind == "regression":
        return {"r2": 0.0}
    if task.kind == "language":
        shares = _shares(train.target, task.words)
        loss = float(-shares.log()[on_cpu(test.target).flatten()].mean())
        return {"perplexity": math.exp(loss), "log_loss": loss}
    answer = _answer(task, on_cpu(train.target))
    return score(task, answer.expand(len(test), -1), on_cpu(test.target))


def telling_metrics(task: Task, fair: bool) -> tuple[str, ...]:
    """The metrics that tell whether a network is of use.

    Args:
        task: what is predicted.
        fair: whether all rows count alike; else it is taken that all classes are to.
    """
    if task.kind in ("binary", "multiclass"):
        return ("accuracy", "log_loss") if fair else ("balanced_error",)
    found = {
        "regression": ("r2",),
        "language": ("perplexity",),
        "multilabel": ("f1_weighted", "log_loss"),
    }
    return found[task.kind]


def is_worse(
    metrics: Sequence[str], scores: Mapping[str, float], trivial: Mapping[str, float]
) -> bool:
    """Whether a network does worse than an answer that looks at no input.

    Where two metrics tell, its labels are to be no better and its probabilities worse: sure of too
    much, or of too little, a network may still be of use.

    Args:
        metrics: `telling_metrics`.
        scores: of the network.
        trivial: of the answer, on the same rows.
    """
    sides = [_gain(metric, scores[metric] - trivial[metric]) for metric in metrics]
    return max(sides) <= 0 and sides[-1] < 0


def _gain(metric: str, difference: float) -> float:
    return -difference if metric in _LESS_IS_BETTER else difference


def _answer(task: Task, target: Tensor) -> Tensor:
    """Outputs [1, outputs] that stand for how frequent each class or label is."""
    if task.kind == "multiclass":
        return _shares(target, len(task.classes)).log()[None]
    count, rows = target.double().sum(dim=0), len(target)
    return torch.logit((count + 1) / (rows + 2)).reshape(1, -1)


def _shares(codes: Tensor, kinds: int) -> Tensor:
    """How frequent each code is, none of them never [kinds]."""
    counts = torch.bincount(on_cpu(codes).flatten(), minlength=kinds).double() + 1
    return counts / counts.sum()
