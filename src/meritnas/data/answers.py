"""What the outputs of a network say, by functions of torch and numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from meritnas.data.multilabel import BETWEEN, LABEL_THRESHOLD

if TYPE_CHECKING:
    from torch import Tensor


def probabilities_of(kind: str, outputs: Tensor) -> Tensor:
    """Turns outputs [n, outputs] into class probabilities [n, classes].

    Those of several labels are each on its own and need not sum to 1.

    Args:
        kind: Of task: binary, multiclass or multilabel.
        outputs: What the network says.
    """
    if kind == "multiclass":
        return outputs.softmax(dim=1)
    if kind == "multilabel":
        return outputs.sigmoid()
    import torch  # here: a task is found, and shown, without it

    # Not 1 - sigmoid(x): that loses all digits of a small probability.
    return torch.stack((outputs[:, 0].neg().sigmoid(), outputs[:, 0].sigmoid()), dim=1)


def answers_of(
    kind: str, classes: Sequence[object], mean: float, scale: float, outputs: Tensor
) -> np.ndarray:
    """Turns outputs [n, outputs] into labels [n], or into values on the original scale [n].

    Several labels are text with `|` between them, empty for none.

    Args:
        kind: Of task.
        classes: The labels; none for a number.
        mean: Of a number.
        scale: Of a number.
        outputs: What the network says.
    """
    if kind == "regression":
        numbers: np.ndarray = outputs[:, 0].double().numpy() * scale + mean
        return numbers
    if kind == "multilabel":
        given = (outputs.sigmoid() > LABEL_THRESHOLD).tolist()
        texts = [BETWEEN.join(compress(map(str, classes), row)) for row in given]
        return np.array(texts, dtype=object)
    codes = outputs[:, 0] > 0 if kind == "binary" else outputs.argmax(dim=1)
    text = isinstance(classes[0], str)
    return np.array(classes, dtype=object if text else None)[codes.long().numpy()]
