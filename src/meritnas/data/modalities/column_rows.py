"""What was made of each column, or array, of several modalities: for people."""

from __future__ import annotations

from collections.abc import Iterator

from meritnas.data.columns.encoder import ColumnRow
from meritnas.data.modalities.encoder import Modality, ModalityEncoder
from meritnas.data.modalities.frozen import FrozenModality
from meritnas.data.modalities.picture import PictureModality
from meritnas.data.modalities.table import TableModality
from meritnas.data.modalities.vector import VectorModality
from meritnas.data.modalities.written import WrittenModality


def column_rows(encoder: ModalityEncoder) -> list[ColumnRow]:
    """A row for each column of a table, or array, in the order of the modalities."""
    return [row for each in encoder.modalities for row in _rows(each)]


def _rows(modality: Modality) -> Iterator[ColumnRow]:
    of = f"modality '{modality.name}'"
    if isinstance(modality, FrozenModality):
        for row in _rows(modality.read):
            yield row._replace(details=f"{row.details}, read by {modality.backbone}")
    elif isinstance(modality, TableModality):
        for row in modality.encoder.describe():
            told = row.details if row.taken_as == "left out" else f"{of}: {row.details}"
            yield row._replace(details=told)
    elif isinstance(modality, WrittenModality):
        for column in modality.columns:
            told = f"{of}: {modality.places:,} numbers, {modality.way} words"
            yield ColumnRow(column, "text", told)
    elif isinstance(modality, PictureModality):
        channels, height, width = modality.feature.shape
        colours = "in colours" if channels > 1 else "grey"
        told = f"{of}: {height} x {width} pixels (height x width), {colours}"
        yield ColumnRow((modality.columns or (modality.name,))[0], "picture", told)
    else:
        yield ColumnRow(modality.name, "numbers", f"{of}: {_shapes(modality)}")


def _shapes(modality: VectorModality) -> str:
    each = [" x ".join(f"{side:,}" for side in feature.shape) for feature in modality.features]
    return f"{each[0]} numbers" if len(each) == 1 else f"features of {', '.join(each)} numbers"
