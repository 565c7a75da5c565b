from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from meritnas.data.encoder import TableEncoder
from meritnas.data.source import Source
from meritnas.data.split import split_rows
from meritnas.data.task import Task


@dataclass(frozen=True)
class Part:
    """Encoded rows of a table.

    Attributes:
        inputs: Float32 [n, width], laid out as `TableEncoder.transform` says.
        target: [n], float32 for binary and regression, int64 for multiclass.
    """

    inputs: Tensor
    target: Tensor

    def __len__(self) -> int:
        return len(self.target)

    def to(self, device: torch.device | str) -> Part:
        """Returns the part with its tensors on a device."""
        return Part(self.inputs.to(device), self.target.to(device))


@dataclass(frozen=True)
class Bundle:
    """A table ready to train on: three encoded parts and what encoded them.

    Attributes:
        name: Short name for reports.
        train: Rows that weights are trained on.
        valid: Rows that architectures are compared on.
        test: Rows that only the final result is measured on.
        encoder: Turns a frame into inputs.
        task: Turns target values into targets and outputs into answers.
    """

    name: str
    train: Part
    valid: Part
    test: Part
    encoder: TableEncoder
    task: Task

    def to(self, device: torch.device | str) -> Bundle:
        """Returns the bundle with its tensors on a device."""
        train, valid, test = (part.to(device) for part in (self.train, self.valid, self.test))
        return replace(self, train=train, valid=valid, test=test)


def make_bundle(source: Source, seed: int, kind: str | None = None) -> Bundle:
    """Finds the task, splits the rows, and encodes them by what the train rows say.

    Args:
        source: The table.
        seed: Seed of the split.
        kind: "classification" or "regression" to settle the task, None to find out.

    Raises:
        DataError: The table cannot be learned from.
    """
    values = source.frame[source.target]
    # The classes must be known to split by them, the train rows to scale a regression target.
    task = Task.find(values, np.arange(len(values)), kind)
    labels = None if task.kind == "regression" else task.encode(values).numpy()
    split = split_rows(len(values), labels, seed)
    if task.kind == "regression":
        task = Task.find(values, split.train, kind)
    features = source.frame.drop(columns=source.target)
    encoder = TableEncoder.fit(features.iloc[split.train])
    inputs = torch.from_numpy(encoder.transform(features))
    target = task.encode(values)

    def part(rows: np.ndarray) -> Part:
        index = torch.from_numpy(rows)
        return Part(inputs[index], target[index])

    return Bundle(
        source.name, part(split.train), part(split.valid), part(split.test), encoder, task
    )
