"""Gradient boosted trees on encoded rows of a table: a yardstick, or a teacher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.data.bundle import Part
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.task import Task

MOST_CODES = 255
"""Of a category that trees take as one; others they take as numbers."""

_A_TREE = 1.5e-3
"""Seconds of a tree on hardly any rows, and of a number in a tree, as measured on one core of a
usual machine: what is fitted follows from sizes alone, not from how fast a machine is."""
_OF_A_TREE = 1e-8
_LEAST_CHANCE = 1e-7


@dataclass(frozen=True)
class Trees:
    """Trees that are fitted.

    Attributes:
        task: what they answer.
        model: scikit-learn's.
    """

    task: Task
    model: Any

    def stages(self, rows: Tensor) -> Iterator[Tensor]:
        """What a network would say to encoded rows [n, width], [n, outputs], tree after tree."""
        if self.task.kind == "regression":
            yield from map(column_of, self.model.staged_predict(rows.numpy()))
            return
        for chances in self.model.staged_predict_proba(rows.numpy()):
            yield logits_of(self.task, self.model.classes_, chances)


def fitted_trees(
    task: Task, inputs: TableInputs, train: Part, seconds: float, most: int, seed: int
) -> Trees:
    """Fit as many trees as a usual machine fits in this time, up to the most.

    Args:
        task: what is predicted.
        inputs: what the columns of encoded rows are.
        train: the rows.
        seconds: that it may take.
        most: trees of each class.
        seed: of scikit-learn's draws.
    """
    # Only now: nobody should wait for scikit-learn's ensembles who asks for no trees.
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kinds = len(task.classes) if task.kind == "multiclass" else 1
    a_stage = kinds * (_A_TREE + train.inputs.numel() * _OF_A_TREE)
    codes = [
        inputs.numbers + place
        for place, count in enumerate(inputs.cardinalities)
        if count <= MOST_CODES
    ]
    options: dict[str, Any] = {
        "max_iter": int(np.clip(seconds / a_stage, 1, most)),
        "early_stopping": False,
        "categorical_features": codes or None,
        "random_state": seed,
    }
    of_numbers = task.kind == "regression"
    kind = HistGradientBoostingRegressor if of_numbers else HistGradientBoostingClassifier
    rows, answers = train.inputs.numpy(), train.target.numpy()
    return Trees(task, kind(**options).fit(rows, answers, weights_of(train)))


def weights_of(train: Part) -> np.ndarray | None:
    """How much each row counts, as scikit-learn takes it."""
    return None if train.weights is None else train.weights.numpy()


def column_of(numbers: np.ndarray) -> Tensor:
    """Numbers [n] as a network would say them."""
    return torch.from_numpy(np.asarray(numbers, dtype=np.float64))[:, None]


def logits_of(task: Task, known: np.ndarray, chances: np.ndarray) -> Tensor:
    """Chances [n, known] of the classes that a model knows, as a network would say them."""
    every = np.full((len(chances), len(task.classes)), _LEAST_CHANCE)
    every[:, known.astype(np.int64)] = np.clip(chances, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    logs = torch.from_numpy(np.log(every))
    return logs[:, 1:] - logs[:, :1] if task.kind == "binary" else logs
