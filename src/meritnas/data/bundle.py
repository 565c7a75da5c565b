"""Data ready to train on: three encoded parts, what encoded them, and what is predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
import pandas as pd
import torch
from sklearn.utils.class_weight import compute_sample_weight
from torch import Tensor

from meritnas.data.hashed_split import HashedSplit
from meritnas.data.kind import Encoder
from meritnas.data.labels import rarity_note
from meritnas.data.rows import Rows
from meritnas.data.split import Split
from meritnas.data.task import Task
from meritnas.devices.placement import beside, placed
from meritnas.errors import DataError

EncoderT = TypeVar("EncoderT", bound=Encoder, covariant=True)
Fitted = TypeVar("Fitted", bound=Encoder)


class Changes(Protocol):
    """What is done to training rows, each time that they are drawn in another way."""

    def changed(self, inputs: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Rows as they are trained on; what is given is never written to.

        Args:
            inputs: Some rows of the part, as it has them.
            rows: Their numbers in the part.
            generator: On the CPU, whatever the device of the rows.
        """
        ...

    def of(self, rows: Tensor) -> Changes:
        """The same for a part that has the rows of these numbers only."""
        ...

    def to(self, device: torch.device | str) -> Changes:
        """The same with tensors on a device."""
        ...


@dataclass(frozen=True)
class Part:
    """Encoded rows of a table, encoded images, or pieces of a text.

    Attributes:
        inputs: Float32 [n, width], laid out as `TableEncoder.transform` says, or as `RowLayout`
            says for several modalities; for images [n, c, h, w] as `ImageEncoder.transform` says;
            pieces of a text int64 [n, steps].
        target: [n], float32 for binary and regression, int64 for multiclass; for several labels a
            sample float32 [n, labels]; for a text the words that follow, int64 [n, steps].
        weights: Float32 [n], how much each row counts, 1 on average; None where all count alike.
        columns: Where pieces continue each other: piece k + columns goes on where piece k ends.
            None for rows that have no order.
        taught: What a teacher answers to each row, on the scale of the target: numbers or chances
            of the second class [n], chances of several classes [n, classes]. None without one.
        changes: What is done to rows that are drawn to train on; None for nothing.
        original: The inputs as they were found, where networks are to see others; else None.
    """

    inputs: Tensor
    target: Tensor
    weights: Tensor | None = None
    columns: int | None = None
    taught: Tensor | None = None
    changes: Changes | None = None
    original: Tensor | None = None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def groups(self) -> Sequence[int]:
        """All rows are there at once."""
        return (len(self),)

    @property
    def sample(self) -> Part:
        """All of it, which is in memory."""
        return self

    def window(self, groups: Sequence[int]) -> Part:
        """All of it."""
        del groups
        return self

    def slice(self, start: int, end: int) -> Part:
        """Returns the rows from `start` up to `end`."""
        weights = None if self.weights is None else self.weights[start:end]
        taught = None if self.taught is None else self.taught[start:end]
        original = None if self.original is None else self.original[start:end]
        changes = self.changes
        if changes is not None:
            changes = changes.of(torch.arange(len(self))[start:end])
        inputs, target = self.inputs[start:end], self.target[start:end]
        return Part(inputs, target, weights, None, taught, changes, original)

    def rows(self, numbers: Tensor) -> Part:
        """Returns the rows of these numbers, in their order."""
        at = beside(numbers, self.inputs)
        weights = None if self.weights is None else self.weights[at]
        taught = None if self.taught is None else self.taught[at]
        original = None if self.original is None else self.original[at]
        changes = None if self.changes is None else self.changes.of(numbers)
        return Part(self.inputs[at], self.target[at], weights, None, taught, changes, original)

    def share(self, share: float) -> Part:
        """Returns the first so much of it, whole columns of pieces where they continue."""
        if self.columns is None:
            return self.slice(0, max(1, math.ceil(share * len(self))))
        rows = max(1, math.ceil(share * len(self) / self.columns)) * self.columns
        return replace(self.slice(0, rows), columns=self.columns)

    def drawn(self, share: float, seed: int) -> Part:
        """Returns so much of it, rows drawn at random in their old order."""
        count = max(1, math.ceil(share * len(self)))
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        return self.rows(order[:count].sort().values)

    def origin(self) -> str:
        """Nothing is read any more."""
        return ""

    def to(self, device: torch.device | str) -> Part:
        """Returns the part with its tensors on a device."""
        weights = None if self.weights is None else placed(self.weights, device)
        taught = None if self.taught is None else placed(self.taught, device)
        original = None if self.original is None else placed(self.original, device)
        changes = None if self.changes is None else self.changes.to(device)
        inputs, target = placed(self.inputs, device), placed(self.target, device)
        return Part(inputs, target, weights, self.columns, taught, changes, original)


def joined_parts(parts: Sequence[Part]) -> Part:
    """Several parts of rows that have no order as one."""
    if len(parts) == 1:
        return parts[0]
    weights = [part.weights for part in parts if part.weights is not None]
    return Part(
        torch.cat([part.inputs for part in parts]),
        torch.cat([part.target for part in parts]),
        torch.cat(weights) if weights else None,
    )


@dataclass(frozen=True)
class Bundle(Generic[EncoderT]):
    """A table or images ready to train on: three encoded parts and what encoded them.

    Attributes:
        name: Short name for reports.
        train: Rows that weights are trained on.
        valid: Rows that architectures are compared on.
        test: Rows that only the final result is measured on.
        encoder: Turns a frame, or images, into inputs.
        task: Turns target values into targets and outputs into answers.
    """

    name: str
    train: Rows
    valid: Part
    test: Part
    encoder: EncoderT
    task: Task

    def to(self, device: torch.device | str) -> Bundle[EncoderT]:
        """Returns the bundle with its tensors on a device."""
        valid, test = self.valid.to(device), self.test.to(device)
        return replace(self, train=self.train.to(device), valid=valid, test=test)


@dataclass(frozen=True)
class Outline:
    """What is settled about a table before its columns are looked at, or about images.

    Attributes:
        task: What is predicted.
        split: Which rows are for what.
        weights: How much each row counts, float64 [n]; None where all count alike.
        notes: What a user should know about the target, a sentence each.
        class_weights: How much a row of each class counts, float64 [classes], where rows are
            streamed; None where all count alike.
    """

    task: Task
    split: Split | HashedSplit
    weights: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    class_weights: np.ndarray | None = None


def weigh_classes(
    values: pd.Series, codes: np.ndarray | None, class_weight: str | None
) -> tuple[np.ndarray | None, str]:
    """Settles how much each row counts.

    Args:
        values: The target column.
        codes: Class number of each row [n]; None for a number to predict.
        class_weight: "balanced" for classes that count alike however many rows they have.

    Returns:
        Float64 [n], or None where all count alike; and a note about a rare class, or an empty
        string.

    Raises:
        DataError: There is no such way to weigh, or there are no classes.
    """
    if class_weight is None:
        return None, "" if codes is None else rarity_note(values)
    if class_weight != "balanced":
        raise DataError(f"class_weight must be 'balanced', or left out, got '{class_weight}'")
    if codes is None:
        raise DataError(
            f"class_weight weighs classes, but the target '{values.name}' is a number; leave it out"
        )
    return compute_sample_weight("balanced", codes), ""


def bundle_parts(
    name: str,
    outline: Outline,
    encoder: Fitted,
    inputs: Callable[[np.ndarray], Tensor],
    target: pd.Series | pd.DataFrame,
) -> Bundle[Fitted]:
    """The three parts of data whose rows have no order.

    Args:
        name: Short name for reports.
        outline: The task and the split.
        encoder: What encodes the rows.
        inputs: Positions of rows -> these, encoded.
        target: The answer to every row.
    """
    answers = outline.task.encode(target)

    def part(rows: np.ndarray) -> Part:
        own = part_weights(outline.weights, rows)
        return Part(inputs(rows), answers[torch.from_numpy(rows)], own)

    split = outline.split
    parts = part(split.train), part(split.valid), part(split.test)
    return Bundle(name, *parts, encoder, outline.task)


def part_weights(weights: np.ndarray | None, rows: np.ndarray) -> Tensor | None:
    """Returns the weights of some rows, 1 on average, so that losses keep their scale."""
    if weights is None or not len(rows):
        return None
    own = weights[rows]
    return torch.from_numpy((own / own.mean()).astype(np.float32))
