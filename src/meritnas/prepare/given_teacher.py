"""What an estimator of a user's own answers to the training rows of a table.

The estimator itself is not kept, which would take pickle: a run has its answers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.exceptions import NotFittedError
from torch import Tensor

from meritnas.data.bundle import Outline
from meritnas.data.split import Split
from meritnas.data.task import Task
from meritnas.errors import UsageError, told
from meritnas.wording import listed

GIVEN_NOTE = (
    "the teacher was given: where it has seen the training rows, its answers to them are better "
    "than to others, and networks learn less from them"
)


@dataclass(frozen=True)
class GivenTeacher:
    """An estimator that networks learn from.

    Attributes:
        estimator: fitted, with `predict`, for classes with `predict_proba` and `classes_`.
        labels: what it calls the classes, in their order; None where it does as the target does.
    """

    estimator: Any
    labels: Sequence[Any] | None = None


def check_in_memory(outline: Outline) -> None:
    """Complain where a teacher cannot answer to all training rows."""
    if not isinstance(outline.split, Split):
        raise UsageError(
            "a teacher answers to training rows that are in memory, and this table is read a piece "
            "at a time; leave teacher out, or give a part of the table"
        )


def given_answers(teacher: GivenTeacher, source: Any, outline: Outline) -> Tensor:
    """What a fitted estimator answers to the training rows, on the scale of the target.

    It gets a data frame with the columns that it knows by name, or else an array with all columns.

    Args:
        teacher: who is asked.
        source: the table.
        outline: its task and split.

    Returns:
        As `Part.taught` has them.

    Raises:
        UsageError: It cannot answer.
    """
    task, model = outline.task, teacher.estimator
    name = type(model).__name__
    assert isinstance(outline.split, Split)
    frame = source.frame.drop(columns=source.target).iloc[outline.split.train]
    ask = "predict" if task.kind == "regression" else "predict_proba"
    if not hasattr(model, ask):
        raise UsageError(
            f"the teacher {name} has no {ask}, which '{task.target}' needs; give another one"
        )
    try:
        said = np.asarray(getattr(model, ask)(_as_known(model, frame)), dtype=np.float64)
    except NotFittedError as error:
        raise UsageError(f"the teacher {name} is not fitted; fit it first") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"the teacher {name} cannot answer to the rows of this table "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}); fit it on "
            "the same columns"
        ) from error
    found = _numbers(task, said) if task.kind == "regression" else _chances(task, teacher, said)
    if found.shape[:1] != (len(frame),) or not np.isfinite(found).all():
        raise UsageError(
            f"the teacher {name} answers {told(said.shape)} to {len(frame):,} rows, or not with "
            "finite numbers; give one that answers to each row"
        )
    return torch.from_numpy(found.astype(np.float32))


def _as_known(model: Any, frame: pd.DataFrame) -> Any:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return frame.to_numpy()
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise KeyError(f"there is no column {absent[0]}")
    return frame[list(names)]


def _numbers(task: Task, said: np.ndarray) -> np.ndarray:
    return np.asarray((said.reshape(len(said), -1)[:, 0] - task.mean) / task.scale)


def _chances(task: Task, teacher: GivenTeacher, said: np.ndarray) -> np.ndarray:
    """Of all classes, those that the teacher does not know at 0; of two that of the second."""
    own = task.classes if teacher.labels is None else teacher.labels
    labels = pd.Index(np.asarray(teacher.estimator.classes_).astype(object), dtype=object)
    places = pd.Index(own, dtype=object).get_indexer(labels)
    if (places < 0).any():
        raise UsageError(
            f"the teacher {type(teacher.estimator).__name__} knows the class "
            f"{told(labels[int(np.argmax(places < 0))])}, which '{task.target}' does not have; "
            f"classes: {listed(own)}"
        )
    every = np.zeros((len(said), len(task.classes)))
    every[:, places] = said
    return every[:, 1] if task.kind == "binary" else every
