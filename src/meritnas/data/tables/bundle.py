"""A table ready to train on: its task, its split, its rows as numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from meritnas.data.bundle import Bundle, Outline, bundle_parts, weigh_classes
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.tables.asked_columns import asked_columns
from meritnas.data.tables.plan import plan_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import Source

_AS_USUAL = TableReading()


def outline_table(source: Source, seed: int, reading: TableReading = _AS_USUAL) -> Outline:
    """Finds the task and splits the rows.

    Args:
        source: The table.
        seed: Seed of the split.
        reading: What a user decides about it.

    Raises:
        DataError: The target cannot be learned, or rows cannot be split as asked.
    """
    plan = plan_table(source, seed, reading)
    values = source.frame[source.target]
    weights, rarity = weigh_classes(values, plan.labels, reading.class_weight)
    notes = (*plan.notes, rarity) if rarity else plan.notes
    return Outline(plan.task, plan.split, weights, notes)


def encode_table(
    source: Source,
    outline: Outline,
    scaling: Literal["standard", "quantile"] = "standard",
    most_categories: int | None = None,
    reading: TableReading = _AS_USUAL,
) -> Bundle[TableEncoder]:
    """Encodes the rows by what the train rows say.

    Args:
        source: The table.
        outline: Its task and split.
        scaling: How numbers are scaled.
        most_categories: The most categories a column keeps; None for no such bound.
        reading: What a user says about columns.

    Raises:
        DataError: No column can be used, or a value is not what its column needs.
    """
    features = source.frame.drop(columns=source.target)
    asked = asked_columns(reading, source.frame.columns, source.target)
    encoder = TableEncoder.fit(features, outline.split.train, scaling, most_categories, asked)
    return encode_table_by(encoder, source, outline)


def encode_table_by(
    encoder: TableEncoder, source: Source, outline: Outline
) -> Bundle[TableEncoder]:
    """Encodes the rows by an encoder that there is.

    Raises:
        DataError: A value is not what its column needs.
    """
    features = source.frame.drop(columns=source.target)

    def inputs(rows: np.ndarray) -> Tensor:
        return torch.from_numpy(encoder.transform(features, rows))

    return bundle_parts(source.name, outline, encoder, inputs, source.frame[source.target])


def make_bundle(
    source: Source, seed: int, kind: Literal["classification", "regression"] | None = None
) -> Bundle[TableEncoder]:
    """Outlines and encodes a table, with everything else as it is by default."""
    return encode_table(source, outline_table(source, seed, TableReading(task=kind)))
