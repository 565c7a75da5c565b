"""What a search would make of the columns of several modalities."""

from __future__ import annotations

from collections.abc import Callable

from meritnas.data.columns.encoder import ColumnRow, target_row
from meritnas.data.kind import ColumnPreview
from meritnas.data.modalities.bundle import outline_modalities
from meritnas.data.modalities.column_rows import column_rows
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.reading import ModalityReading
from meritnas.data.modalities.source import ModalitySource
from meritnas.errors import DataError

_SKIPPED = (
    "a search stops at rows that cannot be read; with --skip-bad-rows it leaves them out, as here"
)


def preview_modalities(
    load: Callable[[bool], ModalitySource], reading: ModalityReading, seed: int
) -> ColumnPreview:
    """Decides on the columns as a search does, from the training rows.

    Frozen backbones are left aside: nothing of a user's own is imported to look at columns.

    Args:
        load: Loads the samples; with rows that cannot be read left out, or not.
        reading: What a user decides about them.
        seed: Of the split.

    Raises:
        DataError: The samples cannot be used.
    """
    skipped: tuple[str, ...] = ()
    try:
        source = load(reading.skip_bad_rows)
    except DataError:
        if reading.skip_bad_rows:
            raise
        source, skipped = load(True), (_SKIPPED,)
    outline = outline_modalities(source, seed, reading.task)
    encoder = ModalityEncoder.fit(
        source.views, outline.split.train, reading.text_form, reading.text_columns
    )
    rows: list[ColumnRow] = [target_row(outline.task), *column_rows(encoder)]
    notes = (*source.notes, *skipped, *outline.notes, *encoder.warnings)
    return ColumnPreview(rows, notes)
