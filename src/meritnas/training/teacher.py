"""What a teacher answers to training rows: boosted trees, or networks that are trained already.

Networks that learn from a teacher's answers beside the labels (knowledge distillation, Hinton,
Vinyals and Dean, 2015) may get better than by the labels alone: `train.py` has the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.task import Task
from meritnas.errors import UsageError
from meritnas.training.train import outputs_of
from meritnas.training.trees import fitted_trees

FOLDS = 5
"""So many parts the training rows are in: each is answered by trees that have seen the others."""

LEAST_ROWS = 50
"""To train on, where trees are to teach."""

_MOST_TREES = 300


def check_trees(task: Task, train: Part) -> None:
    """Complain about rows that trees cannot answer without having seen them."""
    if len(train) < LEAST_ROWS:
        raise UsageError(
            f"a teacher of trees needs at least {LEAST_ROWS} training rows, and there are "
            f"{len(train)}; leave teacher out"
        )
    if task.kind == "regression":
        return
    fewest = int(torch.bincount(train.target.long(), minlength=len(task.classes)).min())
    if fewest < FOLDS:
        raise UsageError(
            f"a teacher of trees needs at least {FOLDS} training rows of each class, and one of "
            f"'{task.target}' has {fewest}; leave teacher out"
        )


def answers_of(task: Task, outputs: Tensor) -> Tensor:
    """Outputs [n, outputs] on the scale of the target, as `Part.taught` has them; float32."""
    if task.kind == "regression":
        return outputs[:, 0].float()
    if task.kind == "binary":
        return outputs[:, 0].sigmoid().float()
    return outputs.softmax(dim=1).float()


def mean_answers(task: Task, networks: Sequence[nn.Module], inputs: Tensor) -> Tensor:
    """What networks answer in the mean to rows that they may have been trained on.

    Chances are averaged, not logits; shapes as `answers_of` has them.
    """
    each = [answers_of(task, outputs_of(module, inputs)) for module in networks]
    return torch.stack(each).mean(dim=0)


def trees_out_of_fold(
    task: Task, inputs: TableInputs, train: Part, seconds: float, seed: int
) -> Tensor:
    """What boosted trees answer to rows that they have not seen (cross-fitting).

    How many trees there are is decided by the loss on such rows, the same number for all parts.

    Args:
        task: what is predicted.
        inputs: what the columns of encoded rows are.
        train: the rows, as many as `check_trees` wants.
        seconds: that all may take on a usual machine.
        seed: of the parts.

    Returns:
        As `answers_of` has them.
    """
    parts = list(_parts(task, train, seed))
    share = seconds / len(parts)
    models, losses = [], []
    for seen, unseen in parts:
        trees = fitted_trees(task, inputs, train.rows(seen), share, _MOST_TREES, seed)
        own = train.rows(unseen)
        target, weights = own.target, own.weights
        stages = trees.stages(own.inputs)
        losses.append([len(own) * float(task.loss(said, target, weights)) for said in stages])
        models.append(trees)
    fewest = min(map(len, losses))
    best = int(np.sum([each[:fewest] for each in losses], axis=0).argmin())
    found: list[Tensor] = []
    for trees, (_, unseen) in zip(models, parts, strict=True):
        stages = trees.stages(train.inputs[unseen])
        said = next(said for number, said in enumerate(stages) if number == best)
        found.append(answers_of(task, said))
    order = torch.cat([unseen for _, unseen in parts])
    return torch.cat(found)[order.argsort()]


def _parts(task: Task, train: Part, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """(rows that trees see, rows that they answer), each row answered once; by classes."""
    # Only now, like scikit-learn's trees.
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if task.kind == "regression" else StratifiedKFold
    folds = kind(FOLDS, shuffle=True, random_state=seed)
    for seen, unseen in folds.split(train.inputs.numpy(), train.target.numpy()):
        yield torch.from_numpy(seen), torch.from_numpy(unseen)
