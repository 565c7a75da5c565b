"""A table ready to train on: its task, its split, its rows as numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from meritnas.data.bundle import Bundle, Outline, bundle_parts, weigh_classes
from meritnas.data.bundled import BUNDLED
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.labels import guess_note
from meritnas.data.split import split_rows
from meritnas.data.tables.source import Source
from meritnas.data.task import Task


def outline_table(
    source: Source,
    seed: int,
    kind: str | None = None,
    class_weight: str | None = None,
) -> Outline:
    """Finds the task and splits the rows.

    Args:
        source: The table.
        seed: Seed of the split.
        kind: "classification" or "regression" to settle the task, None to find out.
        class_weight: "balanced" for classes that count alike however many rows they have.

    Raises:
        DataError: The target cannot be learned.
    """
    values = source.frame[source.target]
    # The classes must be known to split by them, the train rows to scale a regression target.
    task = Task.find(values, np.arange(len(values)), kind)
    labels = None if task.kind == "regression" else task.codes(values)
    split = split_rows(len(values), labels, seed)
    if labels is None:
        task = Task.find(values, split.train, kind)
    guessed = kind is None and source.location not in BUNDLED
    guess = guess_note(values, task.classes) if guessed else ""
    weights, rarity = weigh_classes(values, labels, class_weight)
    return Outline(task, split, weights, tuple(note for note in (guess, rarity) if note))


def encode_table(
    source: Source,
    outline: Outline,
    scaling: Literal["standard", "quantile"] = "standard",
    most_categories: int | None = None,
) -> Bundle[TableEncoder]:
    """Encodes the rows by what the train rows say.

    Args:
        source: The table.
        outline: Its task and split.
        scaling: How numbers are scaled.
        most_categories: The most categories a column keeps; None for no such bound.

    Raises:
        DataError: No column can be used, or a value is not what its column needs.
    """
    features = source.frame.drop(columns=source.target)
    encoder = TableEncoder.fit(features, outline.split.train, scaling, most_categories)

    def inputs(rows: np.ndarray) -> Tensor:
        return torch.from_numpy(encoder.transform(features, rows))

    return bundle_parts(source.name, outline, encoder, inputs, source.frame[source.target])


def make_bundle(source: Source, seed: int, kind: str | None = None) -> Bundle[TableEncoder]:
    """Outlines and encodes a table, with everything else as it is by default."""
    return encode_table(source, outline_table(source, seed, kind))
