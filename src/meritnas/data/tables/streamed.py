"""A table that is not in memory: its task, its encoder by one pass, its training rows read anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch

from meritnas.data.bundle import Bundle, Outline, Part, joined_parts, part_weights
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.loaded import chosen_target
from meritnas.data.files.parquet_table import ParquetTable
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.rows import Rows
from meritnas.data.split import Split
from meritnas.data.tables.asked_columns import asked_columns
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.row_places import hashed_split, row_places
from meritnas.data.tables.source import Source
from meritnas.data.tables.streaming import check_streamed
from meritnas.data.tables.table_sketch import TableSketch
from meritnas.data.tables.target_counts import TargetCounts
from meritnas.data.task import Task
from meritnas.errors import DataError
from meritnas.wording import listed

_AS_USUAL = TableReading()


@dataclass(frozen=True)
class StreamedTable:
    """A Parquet file, or a folder of them, and the column to predict.

    Attributes:
        table: Where its rows are.
        target: Name of the column to predict.
        fingerprint: SHA-256 over the bytes of all files, in hex.
        asked: What a user says about columns, as `asked_columns` has it.
    """

    table: ParquetTable
    target: str
    fingerprint: str
    asked: Mapping[str, str] = field(default_factory=dict)
    _sketches: dict[HashedSplit, TableSketch] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(
        table: ParquetTable, target: str | None, reading: TableReading = _AS_USUAL
    ) -> StreamedTable:
        """Looks at the names of the columns and at the bytes of the files.

        Raises:
            DataError: The target, or a column that a user names, cannot be found.
            UsageError: Rows are to be read in a way that takes all of them at once.
        """
        check_streamed(reading)
        chosen = chosen_target(target, table.columns, table.path.name)
        if chosen is None:
            raise DataError(
                f"name the target column with --target; columns: {listed(table.columns)}"
            )
        asked = asked_columns(reading, table.columns, chosen)
        return StreamedTable(table, chosen, table.fingerprint(), asked)

    @property
    def name(self) -> str:
        """A short name for reports."""
        return self.table.path.stem

    @property
    def location(self) -> str | None:
        """Absolute path of the file or the folder."""
        return str(Path(self.table.path).resolve())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how it is read."""
        groups = len(self.table.groups)
        return (
            f"{self.table.rows:,} rows are streamed from {groups:,} row groups; rows for "
            "validation and testing are chosen by a hash",
        )

    def sketch(self, split: HashedSplit) -> TableSketch:
        """What a pass over the table keeps of it; there is one pass for each split."""
        if split not in self._sketches:
            self._sketches.clear()
            found = TableSketch.of(self.table, self.target, split, self.asked)
            self._sketches[split] = found
        return self._sketches[split]


def outline_streamed(
    source: StreamedTable, seed: int, reading: TableReading = _AS_USUAL
) -> Outline:
    """Finds the task by a pass over the target column; the split needs none.

    Args:
        source: The table.
        seed: Seed of the split.
        reading: What a user decides about it.

    Raises:
        DataError: The target cannot be learned.
    """
    split = hashed_split(source.table, seed, reading)
    found = TargetCounts.of(source.table, source.target, split)
    task = found.task(reading.task, reading.metric)
    weights = found.class_weights(task, reading.class_weight)
    notes = found.notes(task, reading.task, weights is not None)
    if split.by:
        together = f"rows of the same '{split.by}' are in the same part; it is no input itself"
        notes = (*notes, together)
    return Outline(task, split, None, notes, weights)


def encode_streamed(
    source: StreamedTable,
    outline: Outline,
    scaling: Literal["standard", "quantile"] = "standard",
    most_categories: int | None = None,
) -> Bundle[TableEncoder]:
    """Decides on the columns by what a pass over the table has found.

    Args:
        source: The table.
        outline: Its task and split.
        scaling: How numbers are scaled.
        most_categories: The most categories a column keeps; None for no such bound.

    Raises:
        DataError: No column can be used.
    """
    split = outline.split
    assert isinstance(split, HashedSplit)
    sketch = source.sketch(split)
    encoder = sketch.encoder(scaling, most_categories)
    reader = _Reader(source.table, encoder, outline.task, outline.class_weights)

    def part(rows: np.ndarray) -> Part:
        return reader.part(sketch.kept, rows)

    sample = part(sketch.sampled)
    if reader.weights is not None and sample.weights is not None:
        reader = replace(reader, scale=_scale(reader.weights, sample.target))
    train = StreamedRows(
        reader,
        split,
        tuple(place for place, rows in enumerate(sketch.train_rows) if rows),
        tuple(rows for rows in sketch.train_rows if rows),
        sample,
    )
    valid, test = part(sketch.valid), part(sketch.test)
    for rows, what in ((train, "train on"), (valid, "validate on"), (test, "test on")):
        if not len(rows):
            more = f"more and smaller groups of '{split.by}'" if split.by else "more rows"
            raise DataError(f"of {source.name} no rows are left to {what}; give {more}")
    return Bundle(source.name, train, valid, test, encoder, outline.task)


def kept_rows(source: StreamedTable, outline: Outline) -> tuple[Source, Outline]:
    """All rows that stay in memory, as a table."""
    split = outline.split
    assert isinstance(split, HashedSplit)
    sketch = source.sketch(split)
    few = Source(source.name, sketch.kept, source.target, "", None)
    return few, Outline(outline.task, Split(sketch.sampled, sketch.valid, sketch.test))


def few_rows(
    source: StreamedTable, outline: Outline, most: int, rng: np.random.Generator
) -> tuple[Source, Outline]:
    """Some rows for training and validation as a table in memory."""
    split = outline.split
    assert isinstance(split, HashedSplit)
    sketch = source.sketch(split)

    def some(rows: np.ndarray) -> np.ndarray:
        return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))

    train, valid = some(sketch.sampled), some(sketch.valid)
    frame = sketch.kept.iloc[np.concatenate([train, valid])].reset_index(drop=True)
    weights = None
    if outline.class_weights is not None:
        codes = outline.task.codes(frame[source.target]).astype(np.int64)
        weights = outline.class_weights[codes]
    ends = np.arange(len(train)), np.arange(len(train), len(frame)), np.zeros(0, np.int64)
    few = Source(source.name, frame, source.target, "", None)
    return few, Outline(outline.task, Split(*ends), weights)


@dataclass(frozen=True)
class _Reader:
    """Turns rows of a table into parts.

    Attributes:
        table: Where they are.
        encoder: Of the columns.
        task: Of the target.
        weights: How much a row of each class counts [classes]; None where all count alike.
        scale: What weights are divided by, so that they are 1 on average over training rows.
    """

    table: ParquetTable
    encoder: TableEncoder
    task: Task
    weights: np.ndarray | None
    scale: float = 1.0

    def part(self, frame: pd.DataFrame, rows: np.ndarray) -> Part:
        """Some rows of a frame, with weights that are 1 on average over them."""
        inputs, target = self._encoded(frame, rows)
        own = None if self.weights is None else self.weights[target.long().numpy()]
        return Part(inputs, target, part_weights(own, np.arange(len(rows))))

    def group(self, place: int, split: HashedSplit) -> Part:
        """The training rows of a group."""
        rows = np.flatnonzero(split.is_train(row_places(self.table, place, split)))
        categories = {column.name for column in self.encoder.category_columns}
        frame = self.table.read(place, self.encoder.columns | {self.task.target}, categories)
        inputs, target = self._encoded(frame, rows)
        if self.weights is None:
            return Part(inputs, target)
        own = torch.from_numpy(self.weights[target.long().numpy()] / self.scale).float()
        return Part(inputs, target, own)

    def _encoded(self, frame: pd.DataFrame, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = torch.from_numpy(self.encoder.transform(frame, rows))
        return inputs, self.task.encode(frame[self.task.target].iloc[rows])


@dataclass(frozen=True)
class StreamedRows:
    """Training rows that are read, and encoded, when they are needed.

    Attributes:
        reader: Turns row groups into parts.
        split: Which rows are for training.
        places: Which groups of the table have any.
        groups: How many each of these has.
        sample: Some of them, drawn fairly, or all where there are few.
    """

    reader: _Reader
    split: HashedSplit
    places: tuple[int, ...]
    groups: tuple[int, ...]
    sample: Part

    @property
    def columns(self) -> None:
        """Rows of a table have no order."""

    def __len__(self) -> int:
        """How many rows there are in all."""
        return sum(self.groups)

    def window(self, groups: Sequence[int]) -> Part:
        """The rows of these groups, in their order."""
        parts = [self.reader.group(self.places[group], self.split) for group in groups]
        return joined_parts(parts).to(self.sample.inputs.device)

    def share(self, share: float) -> Rows:
        """So much of the sample where that is enough, else of the first groups."""
        count = max(1, math.ceil(share * len(self)))
        if count <= len(self.sample):
            return self.sample.slice(0, count)
        ends = np.cumsum(self.groups)
        some = int(np.searchsorted(ends, count)) + 1
        return replace(self, places=self.places[:some], groups=self.groups[:some])

    def origin(self) -> str:
        """The table's digest as it is now and here, for which it is read once."""
        return self.reader.table.fingerprint()

    def to(self, device: torch.device | str) -> StreamedRows:
        """The same with tensors on a device."""
        return replace(self, sample=self.sample.to(device))


def _scale(weights: np.ndarray, target: torch.Tensor) -> float:
    return float(weights[target.long().numpy()].mean())
