"""How good answers are that look at no input."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.training.metrics import score


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
        loss = float(-shares.log()[test.target.cpu().flatten()].mean())
        return {"perplexity": math.exp(loss), "log_loss": loss}
    answer = _answer(task, train.target.cpu())
    return score(task, answer.expand(len(test), -1), test.target)


def is_worse(task: Task, scores: dict[str, float], trivial: dict[str, float], fair: bool) -> bool:
    """Whether a network does worse than an answer that looks at no input.

    Classes and labels have two sides: a network is worse whose probabilities cost more and whose
    labels are no better.

    Args:
        task: what is predicted.
        scores: of the network.
        trivial: of the answer, on the same rows.
        fair: whether all rows count alike; else classes are taken to.
    """
    if task.kind == "regression":
        return scores["r2"] < trivial["r2"]
    if task.kind == "language":
        return scores["log_loss"] > trivial["log_loss"]
    if task.kind == "multilabel":
        no_better = scores["f1_weighted"] <= trivial["f1_weighted"]
    elif fair:
        no_better = scores["accuracy"] <= trivial["accuracy"]
    else:
        return scores["balanced_error"] > trivial["balanced_error"]
    return no_better and scores["log_loss"] > trivial["log_loss"]


def _answer(task: Task, target: Tensor) -> Tensor:
    """Outputs [1, outputs] that stand for how frequent each class or label is."""
    if task.kind == "multiclass":
        return _shares(target, len(task.classes)).log()[None]
    count, rows = target.double().sum(dim=0), len(target)
    return torch.logit((count + 1) / (rows + 2)).reshape(1, -1)


def _shares(codes: Tensor, kinds: int) -> Tensor:
    """How frequent each code is, none of them never [kinds]."""
    counts = torch.bincount(codes.cpu().flatten(), minlength=kinds).double() + 1
    return counts / counts.sum()
