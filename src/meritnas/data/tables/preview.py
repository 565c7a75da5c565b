"""What a search would make of a table's columns, found out without torch."""

from __future__ import annotations

from typing import Any, Literal

from meritnas.data.columns.encoder import ColumnRow, TableEncoder, target_row
from meritnas.data.files.loaded import load_table
from meritnas.data.kind import ColumnPreview
from meritnas.data.split import Split
from meritnas.data.tables.asked_columns import asked_columns
from meritnas.data.tables.plan import plan_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.remarks import remarks_on
from meritnas.data.tables.source import source_of
from meritnas.errors import DataError

Scaling = Literal["standard", "quantile"]

_LEAST_ROWS_TO_TRY = 100
"""Smaller tables cannot tell which scaling is better."""

_TRIED = (
    "numbers are shown standardised; a search on so many rows also tries quantile scaling and "
    "takes what suits the validation rows"
)


def scalings(reading: TableReading, split: Split) -> tuple[Scaling, ...]:
    """The scalings that a search tries: both, unless one was asked for or rows are too few."""
    if reading.scaling != "auto":
        return (reading.scaling,)
    enough = len(split.train) >= _LEAST_ROWS_TO_TRY
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
