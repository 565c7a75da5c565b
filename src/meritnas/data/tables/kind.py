"""Tables as a kind of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from meritnas.data.files.plain_file import given_path, new_file_like
from meritnas.data.kind import ColumnPreview, DataKind, GraphInputs, NewRows
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, UsageError
from meritnas.settings.preset import Facts
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from meritnas.data.bundle import Bundle, Outline
    from meritnas.data.columns.encoder import ColumnRow, TableEncoder
    from meritnas.data.tables.source import Source
    from meritnas.data.task import Task


class TableKind(DataKind):
    """Rows and columns, of which one is predicted."""

    name = "table"
    many = elsewhere = "tables"
    this = "this is a table"
    rows = "rows"
    stored = ""
    compared = True
    reading = TableReading
    space = "tabular"
    strategy = "tabnas"
    least_judged_rows = 256

    def predict_with(self, location: str | None) -> str:
        """A file of the same format."""
        return new_file_like(location, ".csv")

    def impossible(self, data: Any) -> str:
        """A pair of arrays has no columns."""
        if isinstance(data, tuple):
            return "a pair of arrays is taken for images; give a table as a data frame"
        return ""

    def load(self, data: Any, target: str | None, reading: TableReading) -> Source:
        """A bundled name, a file, or a frame."""
        from meritnas.data.tables.source import load_source

        return load_source(
            data,
            target,
            reading.skip_bad_rows,
            reading.max_unpacked_mb,
            drop_missing_target=reading.drop_missing_target,
            task=reading.task,
        )

    def load_again(
        self, data: Any, kept: Mapping[str, Any], run: str, reading: TableReading
    ) -> Source:
        """By target, and whether bad rows were skipped."""
        import pandas as pd

        from meritnas.data.tables.source import load_source

        if not isinstance(data, str | pd.DataFrame):
            raise UsageError(f"run {run} was made on a table, not on images; give that")
        return load_source(
            data,
            kept["target"],
            kept["skip_bad_rows"],
            reading.max_unpacked_mb,
            drop_missing_target=reading.drop_missing_target,
            task=reading.task,
        )

    def remembered(self, source: Source, reading: TableReading | None) -> dict[str, Any]:
        """The target, and whether bad rows were skipped."""
        skipped = reading is not None and reading.skip_bad_rows
        return {"kind": self.name, "target": source.target, "skip_bad_rows": skipped}

    def outline(self, source: Source, reading: TableReading, seed: int) -> Outline:
        """The task, and a split that has all classes in every part."""
        from meritnas.data.tables.bundle import outline_table

        return outline_table(source, seed, reading)

    def facts(self, source: Source, outline: Outline, reading: TableReading) -> Facts:
        """Training rows, and columns without the target."""
        del reading
        return Facts(self.name, len(outline.split.train), (source.frame.shape[1] - 1,))

    def encodings(self, reading: TableReading, outline: Outline) -> tuple[str, ...]:
        """Both scalings, unless one was asked for or the table is too small to tell."""
        from meritnas.data.tables.preview import scalings

        return scalings(reading, outline.split)

    def encode(
        self,
        source: Source,
        outline: Outline,
        reading: TableReading,
        *,
        encoding: Any,
        batch_size: int,
        most_codes: int | None = None,
    ) -> Bundle[TableEncoder]:
        """Numbers scaled, categories as codes."""
        from meritnas.data.tables.bundle import encode_table

        del batch_size
        return encode_table(source, outline, encoding, most_codes, reading)

    def remarks(
        self, source: Source, outline: Outline, encoder: TableEncoder, reading: TableReading
    ) -> tuple[str, ...]:
        """Dates beside a random split, likely identifiers and leaks."""
        from meritnas.data.tables.remarks import remarks_on

        target = source.frame[source.target]
        codes = outline.task.codes(target)
        return remarks_on(source, encoder, outline.task, outline.split, codes, reading)

    def encoder_from_json(self, found: dict[str, Any]) -> TableEncoder:
        """The columns as they were decided on."""
        from meritnas.data.columns.encoder import TableEncoder

        return TableEncoder.from_json(found)

    def new_inputs(self, encoder: TableEncoder, data: Any) -> Tensor:
        """A frame -> float32 [n, width]."""
        import pandas as pd
        import torch

        if not isinstance(data, pd.DataFrame):
            raise UsageError("this network was trained on a table; give it a data frame")
        return torch.from_numpy(encoder.transform(data))

    def read_new(
        self, file: str, encoder: TableEncoder, task: Task, max_unpacked_mb: int = MAX_UNPACKED_MB
    ) -> NewRows:
        """A table, with the target or without."""

        from meritnas.data.bundled import BUNDLED, load_bundled
        from meritnas.data.files.table import read_table
        from meritnas.data.tables.target_numbers import known_answers

        if file in BUNDLED:
            frame = load_bundled(file)[0]
        else:
            path = given_path(file)
            frame = read_table(path, decimal=encoder.decimal, max_unpacked_mb=max_unpacked_mb)
        truth = known_answers(frame, task)
        counted = f"rows with known '{task.target}'"
        return NewRows(frame, None, truth, encoder.unfamiliar(frame), counted)

    def as_written(
        self, file: str, new: NewRows, columns: Sequence[str], max_unpacked_mb: int
    ) -> pd.DataFrame:
        """Those of a text file by reading it once more; others as they are."""
        from meritnas.data.bundled import BUNDLED
        from meritnas.data.files.table import read_table

        frame: pd.DataFrame = new.data
        absent = [name for name in columns if name not in frame.columns]
        if absent:
            close = did_you_mean(absent[0], frame.columns)
            raise DataError(
                f"no column '{absent[0]}' to keep in {file};{close} columns: "
                f"{listed(frame.columns)}"
            )
        if file not in BUNDLED:
            path = given_path(file)
            frame = read_table(path, max_unpacked_mb=max_unpacked_mb, as_written=True)
        return frame[list(columns)]

    def columns(self, encoder: TableEncoder) -> list[ColumnRow]:
        """Of each column, in the order of the inputs."""
        return encoder.describe()

    def program(self, encoder: TableEncoder) -> str:
        """The program for tables."""
        del encoder
        return "tables"

    def column_places(self, encoder: TableEncoder) -> Mapping[str, Sequence[int]]:
        """Of each column that is used."""
        return encoder.places

    def preview(
        self, data: Any, target: str | None, reading: TableReading, seed: int
    ) -> ColumnPreview:
        """What each column becomes, in the order of the table."""
        from meritnas.data.tables.preview import preview_table

        return preview_table(data, target, reading, seed)

    def graph_inputs(self, encoder: TableEncoder) -> GraphInputs:
        """Numbers and codes."""
        from meritnas.data.tables.graph import table_graph_inputs

        return table_graph_inputs(encoder)

    def description(self, encoder: TableEncoder) -> dict[str, Any]:
        """What each column becomes, and where it stands."""
        from meritnas.data.columns.description import describe_table

        return describe_table(encoder)


TABLES = TableKind()
