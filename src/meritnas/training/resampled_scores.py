"""Scores of many bootstrap resamples at once."""

from __future__ import annotations

import torch
from torch import Tensor

from meritnas.data.multilabel import LABEL_THRESHOLD
from meritnas.data.task import Task


def resampled_scores(task: Task, outputs: Tensor, target: Tensor, counts: Tensor) -> Tensor:
    """`task.score` of many resamples at once [resamples]: sums over samples are products here.

    Args:
        task: how good outputs are; of classes, labels or a number.
        outputs: what a network says [n, outputs].
        target: encoded [n], or labels [n, labels].
        counts: how often each resample has each sample, float64 [resamples, n].
    """
    size = counts.sum(dim=1)
    if task.kind == "multilabel":
        given = (outputs.sigmoid() > LABEL_THRESHOLD).double()
        hits, support = counts @ (given * target), counts @ target.double()
        f1 = 2.0 * hits / (support + counts @ given).clamp_min(1.0)
        return (f1 * support).sum(dim=1) / support.sum(dim=1).clamp_min(1.0)
    if task.kind == "regression":
        exact = target.double() - target.double().mean()  # near zero: squares lose no digits
        spread = counts @ exact.square() - (counts @ exact).square() / size
        missed = counts @ (target.double() - outputs[:, 0].double()).square()
        return 1.0 - missed / spread.clamp_min(torch.finfo(target.dtype).tiny)
    guess = outputs[:, 0] > task.cut if task.kind == "binary" else outputs.argmax(dim=1)
    return counts @ (guess == target).double() / size
