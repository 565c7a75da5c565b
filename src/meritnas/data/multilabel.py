"""Several labels a row: read, checked, and scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.errors import DataError
from meritnas.wording import listed

if TYPE_CHECKING:
    from torch import Tensor

LABEL_THRESHOLD = 0.3
"""A label is given where its probability is above this."""
BETWEEN = "|"
"""Stands between the labels of a row in text."""

_GOOD_PART = 0.1
"""Of the rows must have several labels in text, for the text to be labels."""
_LEAST_ROWS_OF_A_LABEL = 3


def label_lists(values: pd.Series) -> list[list[str]] | None:
    """The labels of each row; None if a column without missing values has one label a row.

    It has several if it holds lists, or text with `|` in at least a tenth of the rows.
    """
    every = values.tolist()
    if any(isinstance(value, list | tuple | set | np.ndarray) for value in every):
        return [_listed_labels(value, str(values.name)) for value in every]
    if types.infer_dtype(values) != "string":
        return None
    if sum(BETWEEN in text for text in every) < max(1.0, _GOOD_PART * len(every)):
        return None
    return [split_labels(text) for text in every]


def split_labels(text: str) -> list[str]:
    """The labels in a text such as `drama|comedy`."""
    return [label.strip() for label in text.split(BETWEEN) if label.strip()]


def label_frame(rows: Sequence[Iterable[str]], target: str) -> pd.DataFrame:
    """Labels of each row as 0 and 1 of each label, uint8 [n, labels], sorted by name."""
    labels = sorted({label for row in rows for label in row})
    places = {label: place for place, label in enumerate(labels)}
    frame = np.zeros((len(rows), len(labels)), dtype=np.uint8)
    for number, row in enumerate(rows):
        frame[number, [places[label] for label in row]] = 1
    return pd.DataFrame(frame, columns=pd.Index(labels, name=target, dtype=object))


def array_frame(array: np.ndarray, names: np.ndarray | None, target: str) -> pd.DataFrame:
    """An array [n, labels] of 0 and 1 as a frame with the names of the labels.

    Args:
        array: 0, 1 or NaN.
        names: Of the labels; None to number them from 0.
        target: Name of the array.

    Raises:
        DataError: There are other values, one label, or other names than labels.
    """
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"the target '{target}' is {array.dtype} {list(array.shape)}; give one value a row "
            "[n], or 0 and 1 for each of at least 2 labels [n, labels]"
        )
    numbers = array.astype(np.float64)
    strange = numbers[~np.isnan(numbers) & (numbers != 0) & (numbers != 1)]
    if len(strange):
        raise DataError(
            f"the target '{target}' {list(array.shape)} holds {strange[0]:g}, but several labels a "
            "row are 0 and 1; give one value a row [n] for classes or a number"
        )
    labels = [str(place) for place in range(array.shape[1])]
    if names is not None:
        labels = [str(name) for name in np.asarray(names).reshape(-1).tolist()]
    if len(labels) != array.shape[1] or len(set(labels)) != len(labels):
        raise DataError(
            f"'{target}_names' has {len(set(labels))} different names for {array.shape[1]} labels; "
            "give one for each"
        )
    return pd.DataFrame(numbers, columns=pd.Index(labels, name=target, dtype=object))


def check_labels(values: pd.DataFrame, target: str) -> None:
    """Checks that something can be learned from the labels of rows, 0 and 1 [n, labels].

    Raises:
        DataError: It cannot.
    """
    counts = values.to_numpy().sum(axis=0)
    if values.shape[1] < 2 or not ((counts > 0) & (counts < len(values))).any():
        raise DataError(
            f"the target '{target}' has the labels {listed(values.columns) or 'none'}, and none of "
            "them tells rows apart; name another target"
        )
    if values.shape[1] > max(20, 0.5 * len(values)):
        raise DataError(
            f"the target '{target}' has {values.shape[1]} labels in {len(values)} rows and looks "
            "like text; name another target"
        )
    between = [name for name in values.columns if BETWEEN in name]
    if between:
        raise DataError(
            f"the label '{between[0]}' of '{target}' holds '{BETWEEN}', which stands between "
            "labels; rename it"
        )


def label_notes(values: pd.DataFrame, target: str) -> tuple[str, ...]:
    """Sentences about labels that hardly occur, and about rows that all have just one."""
    counts = values.to_numpy().sum(axis=0)
    rare = [
        name for name, n in zip(values.columns, counts, strict=True) if n < _LEAST_ROWS_OF_A_LABEL
    ]
    notes = []
    if rare:
        notes.append(
            f"labels of '{target}' with fewer than {_LEAST_ROWS_OF_A_LABEL} rows can hardly be "
            f"learned: {listed(rare)}"
        )
    if (values.to_numpy().sum(axis=1) == 1).all():
        notes.append(
            f"every row has exactly one label of '{target}'; if that is always so, give one class "
            "a row [n] instead"
        )
    return tuple(notes)


def weighted_f1(chances: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """The F1 of each label at `LABEL_THRESHOLD`, 2 tp / (2 tp + fp + fn), weighted by its rows.

    0 for a label that neither occurs nor is given, and where no label occurs. Nothing waits for
    the device.

    Args:
        chances: The probability of each label [n, labels].
        target: 0 and 1 [n, labels].
        weights: How much each row counts [n]; None for 1 each.
    """
    import torch  # here: labels are read, and shown, without it

    counts = torch.ones_like(target) if weights is None else weights[:, None].expand_as(target)
    given = (chances > LABEL_THRESHOLD).to(target.dtype)
    hits = (given * target * counts).sum(dim=0)
    support = (target * counts).sum(dim=0)
    both = support + (given * counts).sum(dim=0)  # 2 tp + fp + fn
    tiny = torch.finfo(target.dtype).tiny
    f1 = 2.0 * hits / both.clamp_min(tiny)
    return (f1 * support).sum() / support.sum().clamp_min(tiny)


def _listed_labels(value: object, target: str) -> list[str]:
    if not isinstance(value, list | tuple | set | np.ndarray):
        raise DataError(
            f"the target '{target}' holds {value!r} besides lists of labels; make it a list too"
        )
    return [str(label).strip() for label in value]
