"""What the outputs of a network say; needs torch and numpy only, so that it leaves with one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from meritnas.data.multilabel import BETWEEN, LABEL_THRESHOLD

if TYPE_CHECKING:
    from torch import Tensor


class Asked(Protocol):
    """What is predicted: binary, multiclass, multilabel or regression (see `Task`)."""

    @property
    def kind(self) -> str:
        """Of task."""
        ...

    @property
    def target(self) -> str:
        """The name of what is predicted."""
        ...

    @property
    def classes(self) -> Sequence[object]:
        """The labels; none for a number."""
        ...

    @property
    def mean(self) -> float:
        """Of a number."""
        ...

    @property
    def scale(self) -> float:
        """Of a number."""
        ...

    @property
    def threshold(self) -> float:
        """The probability of the second of two classes above which it is the answer."""
        ...


def probabilities_of(task: Asked, outputs: Tensor) -> Tensor:
    """Turns outputs [n, outputs] into class probabilities [n, classes].

    Those of several labels are each on its own and need not sum to 1.
    """
    if task.kind == "multiclass":
        return outputs.softmax(dim=1)
    if task.kind == "multilabel":
        return outputs.sigmoid()
    import torch  # here: a task is found, and shown, without it

    # Not 1 - sigmoid(x): that loses all digits of a small probability.
    return torch.stack((outputs[:, 0].neg().sigmoid(), outputs[:, 0].sigmoid()), dim=1)


def logit(chance: float) -> float:
    """What a network says for a probability, which is neither 0 nor 1."""
    return math.log(chance / (1.0 - chance))


def labels_of(task: Asked, outputs: Tensor) -> np.ndarray:
    """Turns outputs [n, outputs] into labels [n], or into values on the original scale [n].

    Several labels are text with `|` between them, empty for none.
    """
    plain = outputs.detach().cpu()
    if task.kind == "regression":
        numbers: np.ndarray = plain[:, 0].double().numpy() * task.scale + task.mean
        return numbers
    if task.kind == "multilabel":
        given = (plain.sigmoid() > LABEL_THRESHOLD).tolist()
        texts = [BETWEEN.join(compress(map(str, task.classes), row)) for row in given]
        return np.array(texts, dtype=object)
    codes = plain[:, 0] > logit(task.threshold) if task.kind == "binary" else plain.argmax(dim=1)
    text = isinstance(task.classes[0], str)
    return np.array(task.classes, dtype=object if text else None)[codes.long().numpy()]


def unanswered(outputs: Tensor) -> np.ndarray:
    """Positions of the rows whose outputs [n, outputs] are no finite numbers."""
    return np.flatnonzero(~outputs.detach().isfinite().all(dim=1).cpu().numpy())


def answer_columns(task: Asked, outputs: Tensor) -> dict[str, np.ndarray]:
    """The answers, and for classes the probability of each; nothing in rows without an answer.

    Returns:
        By the name of the column, each [n].
    """
    columns = {f"predicted_{task.target}": labels_of(task, outputs)}
    if task.kind != "regression":
        chances = probabilities_of(task, outputs).numpy()
        for label, column in zip(task.classes, chances.T, strict=True):
            columns[f"probability_{label}"] = column
    lacking = unanswered(outputs)
    for name, column in columns.items() if len(lacking) else ():
        kept = column.astype(column.dtype if column.dtype.kind == "f" else object)
        kept[lacking] = None
        columns[name] = kept
    return columns
