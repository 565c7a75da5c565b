"""Several modalities as a kind of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meritnas.data.files.plain_file import given_path, new_file_like
from meritnas.data.kind import ColumnPreview, DataKind, GraphInputs, NewRows
from meritnas.data.modalities.reading import ModalityReading
from meritnas.errors import DataError, UsageError
from meritnas.settings.preset import Facts
from meritnas.settings.reading import MAX_UNPACKED_MB

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch import Tensor

    from meritnas.data.bundle import Bundle, Outline
    from meritnas.data.columns.encoder import ColumnRow
    from meritnas.data.modalities.encoder import ModalityEncoder
    from meritnas.data.modalities.picture_columns import WantedPictures
    from meritnas.data.modalities.source import ModalitySource
    from meritnas.data.task import Task


class ModalityKind(DataKind):
    """Samples that are seen in several ways, such as text and pictures."""

    name = "modalities"
    many = "several modalities"
    elsewhere = "several modalities (--space fusion)"
    this = "these are several modalities"
    rows = "samples"
    has_parts = True
    stored = "modalities"
    reading = ModalityReading
    space = "fusion"
    strategy = "sm-shapley"
    by_looks = False
    least_judged_rows = 256

    def predict_with(self, location: str | None) -> str:
        """A file of the same format: of a table, another table."""
        return new_file_like(location, ".npz")

    def recognises(self, data: Any) -> bool:
        """Arrays and frames by name."""
        return isinstance(data, Mapping)

    def impossible(self, data: Any) -> str:
        """A pair of arrays has no names."""
        if isinstance(data, tuple):
            return "the space fusion is for several modalities; give a dict of arrays"
        return ""

    def load(self, data: Any, target: str | None, reading: ModalityReading) -> ModalitySource:
        """Arrays and frames by name, a NumPy archive, or a table."""
        import pandas as pd

        from meritnas.data.modalities.source import load_modalities

        if target is None:
            raise UsageError(
                "name the array or column to predict: target=... (--target on the line)"
            )
        where = data if isinstance(data, pd.DataFrame | Mapping) else given_path(data)
        return load_modalities(where, target, reading.modalities, *_how(reading))

    def load_again(
        self, data: Any, kept: Mapping[str, Any], run: str, reading: ModalityReading
    ) -> ModalitySource:
        """By target, and which modalities were taken."""
        from meritnas.data.modalities.source import load_modalities

        if isinstance(data, tuple):
            raise UsageError(f"run {run} was made on several modalities; give those by name")
        return load_modalities(data, kept["target"], kept["modalities"], *_how(reading))

    def remembered(self, source: ModalitySource, reading: ModalityReading | None) -> dict[str, Any]:
        """The target, and which modalities were asked for."""
        asked = None if reading is None else reading.modalities
        return {"kind": self.name, "target": source.target_name, "modalities": asked}

    def outline(self, source: ModalitySource, reading: ModalityReading, seed: int) -> Outline:
        """The task, and a split that has all classes in every part."""
        from meritnas.data.modalities.bundle import outline_modalities

        return outline_modalities(source, seed, reading.task, reading.class_weight)

    def facts(self, source: ModalitySource, outline: Outline, reading: ModalityReading) -> Facts:
        """Training samples, and how many modalities there are."""
        del reading
        return Facts(self.name, len(outline.split.train), parts=len(source.views))

    def encode(
        self,
        source: ModalitySource,
        outline: Outline,
        reading: ModalityReading,
        *,
        encoding: str,
        batch_size: int,
        most_codes: int | None = None,
    ) -> Bundle[ModalityEncoder]:
        """All of a sample in one row, from 0 to 1."""
        from meritnas.data.modalities.bundle import encode_modalities

        del encoding, batch_size, most_codes
        form, columns = reading.text_form, reading.text_columns
        frozen, robust = reading.backbones, reading.robust
        return encode_modalities(source, outline, form, columns, frozen, robust=robust)

    def remarks(
        self, source: ModalitySource, outline: Outline, encoder: Any, reading: ModalityReading
    ) -> tuple[str, ...]:
        """What losses are about where samples are disturbed."""
        del source, outline, encoder
        if not reading.robust:
            return ()
        return (
            "robust: networks learn on samples with noise and missing modalities, and validation "
            "losses are of such samples; test scores are of samples as they are",
        )

    def encoder_from_json(self, found: dict[str, Any]) -> ModalityEncoder:
        """How each modality becomes numbers."""
        from meritnas.data.modalities.encoder import ModalityEncoder

        return ModalityEncoder.from_json(found)

    def new_inputs(self, encoder: ModalityEncoder, data: Any) -> Tensor:
        """Arrays and frames by name, a frame or a file -> float32 [n, width]."""
        import numpy as np

        from meritnas.data.modalities.new_samples import load_views

        if isinstance(data, np.ndarray | tuple):
            raise UsageError(
                "this network was trained on several modalities; give a dict of arrays, a data "
                "frame or a file"
            )
        return encoder.transform(load_views(data, encoder.columns, encoder.named_pictures))

    def read_new(
        self,
        file: str,
        encoder: ModalityEncoder,
        task: Task,
        max_unpacked_mb: int = MAX_UNPACKED_MB,
    ) -> NewRows:
        """An archive or a table, with the target or without."""
        from meritnas.data.modalities.new_samples import load_views, read_samples
        from meritnas.data.modalities.source import load_target

        columns, pictures = encoder.columns, encoder.named_pictures
        named = {name: (columns[name][0], shape) for name, shape in pictures.items()}
        samples, unread = read_samples(given_path(file), max_unpacked_mb, named)
        notes = [*unread, *encoder.unfamiliar(load_views(samples, columns, pictures))]
        labels = [str(label) for label in task.classes]
        try:
            truth = load_target(samples, task.target, labels)
        except DataError as error:
            truth, notes = None, [*notes, f"not scored: {error}"]
        return NewRows(samples, None, truth, notes, f"rows with known '{task.target}'")

    def cells(
        self, source: ModalitySource, outline: Outline, rows: np.ndarray
    ) -> pd.DataFrame | None:
        """Texts, the columns of tables and short vectors."""
        from meritnas.data.modalities.shown import shown_views

        return shown_views(source.views, outline.split.test[rows])

    def pictures(self, encoder: ModalityEncoder, inputs: Tensor) -> Mapping[str, np.ndarray]:
        """The modalities that are pictures, by name."""
        from meritnas.data.modalities.shown import shown_pictures

        return shown_pictures(encoder, inputs)

    def program(self, encoder: ModalityEncoder) -> str:
        """The program for modalities, unless a backbone of a user's own reads one first."""
        if encoder.own_names:
            return ""
        return "pictured" if encoder.named_pictures else "modalities"

    def columns(self, encoder: ModalityEncoder) -> list[ColumnRow]:
        """Of which modality each column or array is, and what it becomes."""
        from meritnas.data.modalities.column_rows import column_rows

        return column_rows(encoder)

    def preview(
        self, data: Any, target: str | None, reading: ModalityReading, seed: int
    ) -> ColumnPreview:
        """What a search would make of each column or array; this one takes torch."""
        from meritnas.data.modalities.preview import preview_modalities

        def load(skip: bool) -> ModalitySource:
            return self.load(data, target, replace(reading, skip_bad_rows=skip))

        return preview_modalities(load, reading, seed)

    def graph_inputs(self, encoder: ModalityEncoder) -> GraphInputs:
        """Encoded rows."""
        from meritnas.data.modalities.graph import modality_graph_inputs

        return modality_graph_inputs(encoder)

    def description(self, encoder: ModalityEncoder) -> dict[str, Any]:
        """What each modality becomes, and where it stands in a row."""
        from meritnas.data.modalities.description import describe_modalities

        return describe_modalities(encoder)


def _how(reading: ModalityReading) -> tuple[int, WantedPictures]:
    """How much a file may unpack to, and how its pictures are read."""
    from meritnas.data.modalities.picture_columns import WantedPictures

    wanted = WantedPictures(reading.picture_size, reading.skip_bad_rows)
    return reading.max_unpacked_mb, wanted


MODALITIES = ModalityKind()
