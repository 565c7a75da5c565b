"""What a search would make of a table's columns, found out without torch."""

from __future__ import annotations

from typing import Any, Literal

from meritnas.data.columns.encoder import ColumnRow, TableEncoder, target_row
from meritnas.data.files.loaded import chosen_target, load_table
from meritnas.data.files.parquet_table import ParquetTable, to_stream
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.kind import ColumnPreview
from meritnas.data.split import Split
from meritnas.data.tables.asked_columns import asked_columns
from meritnas.data.tables.plan import plan_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.remarks import remarks_on
from meritnas.data.tables.row_places import hashed_split
from meritnas.data.tables.source import Source, source_of
from meritnas.data.tables.streaming import check_streamed
from meritnas.data.tables.table_sketch import TableSketch
from meritnas.data.tables.target_counts import TargetCounts
from meritnas.errors import DataError

Scaling = Literal["standard", "quantile"]

_LEAST_ROWS_TO_TRY = 100
"""Smaller tables cannot tell which scaling is better."""

_TRIED = (
    "numbers are shown standardised; a search on so many rows also tries quantile scaling and "
    "takes what suits the validation rows"
)


def scalings(reading: TableReading, split: Split | HashedSplit) -> tuple[Scaling, ...]:
    """The scalings that a search tries: both, unless one was asked for or rows are too few."""
    if reading.scaling != "auto":
        return (reading.scaling,)
    enough = split.train_rows >= _LEAST_ROWS_TO_TRY
    return ("standard", "quantile") if enough else ("standard",)


def preview_table(data: Any, target: str | None, reading: TableReading, seed: int) -> ColumnPreview:
    """Decides on the columns as a search does; in the order of the table.

    Without a target, or with one that cannot be learned, by all rows.

    Args:
        data: As `load_source` takes it.
        target: The column to predict.
        reading: What a user decides about the table.
        seed: Of the split.
    """
    large = to_stream(data, reading.stream, reading.max_unpacked_mb)
    if large is not None:
        return _preview_streamed(large, target, reading, seed)
    loaded = load_table(data, reading.skip_bad_rows, reading.max_unpacked_mb)
    chosen, frame = loaded.target(target), loaded.frame
    asked = asked_columns(reading, frame.columns, chosen or "")
    place = {name: number for number, name in enumerate(frame.columns)}
    first: Scaling = "standard" if reading.scaling == "auto" else reading.scaling

    def in_order(rows: list[ColumnRow]) -> list[ColumnRow]:
        return sorted(rows, key=lambda row: place[row.column])

    if chosen is None:
        encoder = TableEncoder.fit(frame, None, first, asked=asked)
        return ColumnPreview(in_order(encoder.describe()), encoder.warnings)
    try:
        dropped = reading.drop_missing_target
        source = source_of(loaded, chosen, drop_missing_target=dropped, task=reading.task)
        plan = plan_table(source, seed, reading)
    except DataError as error:
        # What hinders a search is no reason not to show the columns.
        encoder = TableEncoder.fit(frame.drop(columns=chosen), None, first, asked=asked)
        row = ColumnRow(chosen, "target", f"cannot be learned: {error}")
        return ColumnPreview(in_order([row, *encoder.describe()]), encoder.warnings)
    features = source.frame.drop(columns=chosen)
    encoder = TableEncoder.fit(features, plan.split.train, first, asked=asked)
    codes = plan.task.codes(source.frame[chosen])
    remarks = remarks_on(source, encoder, plan.task, plan.split, codes, reading)
    several = encoder.scalable and len(scalings(reading, plan.split)) > 1
    tried = (_TRIED,) if several else ()
    notes = (*source.notes, *plan.notes, *remarks, *encoder.warnings, *tried)
    return ColumnPreview(in_order([target_row(plan.task), *encoder.describe()]), notes)


def _preview_streamed(
    table: ParquetTable, target: str | None, reading: TableReading, seed: int
) -> ColumnPreview:
    """The same of a table that is not in memory, by a pass over all of it."""
    check_streamed(reading)
    chosen = chosen_target(target, table.columns, table.path.name)
    asked = asked_columns(reading, table.columns, chosen or "")
    first: Scaling = "standard" if reading.scaling == "auto" else reading.scaling
    place = {name: number for number, name in enumerate(table.columns)}
    rows: list[ColumnRow] = []
    split: HashedSplit | None = None
    notes: tuple[str, ...] = ()
    if chosen is not None:
        try:
            split = hashed_split(table, seed, reading)
            found = TargetCounts.of(table, chosen, split)
            task = found.task(reading.task, reading.metric)
            notes = found.notes(task, reading.task, weighed=True)
            rows.append(target_row(task))
        except DataError as error:
            split = None
            rows.append(ColumnRow(chosen, "target", f"cannot be learned: {error}"))
    sketch = TableSketch.of(table, chosen, split, asked)
    encoder = sketch.encoder(first)
    if split is not None and chosen is not None:
        kept = Source(table.path.stem, sketch.kept, chosen, "", None)
        parts = Split(sketch.sampled, sketch.valid, sketch.test)
        codes = task.codes(kept.frame[chosen])
        notes += remarks_on(kept, encoder, task, parts, codes, reading)
        several = encoder.scalable and len(scalings(reading, split)) > 1
        notes += (*encoder.warnings, *((_TRIED,) if several else ()))
    else:
        notes += tuple(encoder.warnings)
    rows += encoder.describe()
    return ColumnPreview(sorted(rows, key=lambda row: place[row.column]), notes)
