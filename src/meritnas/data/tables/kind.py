"""Tables as a kind of data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meritnas.data.files.plain_file import given_path, new_file_like
from meritnas.data.kind import ColumnPreview, DataKind, GraphInputs, NewRows
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, UsageError
from meritnas.settings.preset import Facts
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import did_you_mean, listed

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch import Tensor
    from typing_extensions import TypeIs

    from meritnas.data.bundle import Bundle, Outline
    from meritnas.data.columns.encoder import ColumnRow, TableEncoder
    from meritnas.data.files.parquet_table import ParquetTable
    from meritnas.data.tables.source import Source
    from meritnas.data.tables.streamed import StreamedTable
    from meritnas.data.task import Task

_MOST_SCORED = 1_000_000
"""So many rows of a table that is streamed are scored at most, where their answers are known."""


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

    def load(self, data: Any, target: str | None, reading: TableReading) -> Source | StreamedTable:
        """A bundled name, a file, or a frame; of Parquet files that are too large the footers."""
        from meritnas.data.files.parquet_table import to_stream
        from meritnas.data.tables.source import load_source
        from meritnas.data.tables.streamed import StreamedTable

        large = to_stream(data, reading.stream, reading.max_unpacked_mb)
        if large is not None:
            return StreamedTable.of(large, target, reading)
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
    ) -> Source | StreamedTable:
        """By target, and whether bad rows were skipped or rows streamed."""
        import pandas as pd

        if not isinstance(data, str | pd.DataFrame):
            raise UsageError(f"run {run} was made on a table, not on images; give that")
        # Whether rows are streamed decides about the split: not the memory of this machine.
        again = replace(
            reading, skip_bad_rows=kept["skip_bad_rows"], stream=bool(kept.get("streamed"))
        )
        return self.load(data, kept["target"], again)

    def remembered(
        self, source: Source | StreamedTable, reading: TableReading | None
    ) -> dict[str, Any]:
        """The target, whether bad rows were skipped, and whether rows are streamed."""
        skipped = reading is not None and reading.skip_bad_rows
        found = {"kind": self.name, "target": source.target, "skip_bad_rows": skipped}
        return {**found, "streamed": True} if _is_streamed(source) else found

    def outline(self, source: Source | StreamedTable, reading: TableReading, seed: int) -> Outline:
        """The task, and a split that has all classes in every part; streamed, one by a hash."""
        from meritnas.data.tables.bundle import outline_table
        from meritnas.data.tables.streamed import outline_streamed

        if _is_streamed(source):
            return outline_streamed(source, seed, reading)
        return outline_table(source, seed, reading)

    def facts(
        self, source: Source | StreamedTable, outline: Outline, reading: TableReading
    ) -> Facts:
        """Training rows, and columns without the target."""
        del reading
        columns = source.table.columns if _is_streamed(source) else source.frame.columns
        return Facts(self.name, outline.split.train_rows, (len(columns) - 1,))

    def encodings(self, reading: TableReading, outline: Outline) -> tuple[str, ...]:
        """Both scalings, unless one was asked for or the table is too small to tell."""
        from meritnas.data.tables.preview import scalings

        return scalings(reading, outline.split)

    def few(
        self,
        source: Source | StreamedTable,
        outline: Outline,
        most: int,
        rng: np.random.Generator,
    ) -> tuple[Source, Outline]:
        """Of a table that is streamed, rows that are in memory anyway."""
        from meritnas.data.tables.streamed import few_rows

        if _is_streamed(source):
            return few_rows(source, outline, most, rng)
        return super().few(source, outline, most, rng)

    def encode(
        self,
        source: Source | StreamedTable,
        outline: Outline,
        reading: TableReading,
        *,
        encoding: Any,
        batch_size: int,
        most_codes: int | None = None,
    ) -> Bundle[TableEncoder]:
        """Numbers scaled, categories as codes."""
        from meritnas.data.tables.bundle import encode_table
        from meritnas.data.tables.streamed import encode_streamed

        del batch_size
        if _is_streamed(source):
            return encode_streamed(source, outline, encoding, most_codes)
        return encode_table(source, outline, encoding, most_codes, reading)

    def encode_by(
        self, encoder: TableEncoder, source: Source, outline: Outline
    ) -> Bundle[TableEncoder]:
        """By what was learned about the columns earlier."""
        from meritnas.data.tables.bundle import encode_table_by

        return encode_table_by(encoder, source, outline)

    def remarks(
        self,
        source: Source | StreamedTable,
        outline: Outline,
        encoder: TableEncoder,
        reading: TableReading,
    ) -> tuple[str, ...]:
        """Dates beside a random split, likely identifiers and leaks."""
        from meritnas.data.tables.remarks import remarks_on
        from meritnas.data.tables.streamed import kept_rows

        source, outline = kept_rows(source, outline) if _is_streamed(source) else (source, outline)
        codes = outline.task.codes(source.frame[source.target])
        return remarks_on(source, encoder, outline.task, outline.split, codes, reading)

    def cells(
        self, source: Source | StreamedTable, outline: Outline, rows: np.ndarray
    ) -> pd.DataFrame:
        """The columns but for the target, numbered by row where the table is in memory."""
        from meritnas.data.tables.streamed import kept_rows

        streamed = _is_streamed(source)
        source, outline = kept_rows(source, outline) if _is_streamed(source) else (source, outline)
        places = outline.split.test[rows]
        found = source.frame.drop(columns=source.target).iloc[places]
        return found.reset_index(drop=True) if streamed else found.set_axis(_numbers(places))

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

        if file in BUNDLED:
            frame = load_bundled(file)[0]
        else:
            path = given_path(file)
            frame = read_table(path, decimal=encoder.decimal, max_unpacked_mb=max_unpacked_mb)
        return _new_rows(frame, task, encoder.unfamiliar(frame))

    def read_pieces(
        self,
        file: str,
        encoder: TableEncoder,
        task: Task,
        keep: Sequence[str] = (),
        max_unpacked_mb: int = MAX_UNPACKED_MB,
        stream: bool | None = None,
    ) -> Iterator[NewRows]:
        """All rows at once, or those of a row group after the other."""
        from meritnas.data.files.parquet_table import to_stream

        table = to_stream(file, stream, max_unpacked_mb)
        if table is None:
            yield from super().read_pieces(file, encoder, task, keep, max_unpacked_mb)
        else:
            yield from _new_groups(table, encoder, task, keep)

    def as_written(
        self, file: str, new: NewRows, columns: Sequence[str], max_unpacked_mb: int
    ) -> pd.DataFrame:
        """Those of a text file by reading it once more; others as they are."""
        from meritnas.data.bundled import BUNDLED
        from meritnas.data.files.table import read_table

        frame: pd.DataFrame = new.data
        _check_kept(columns, list(frame.columns), file)
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


def _new_groups(
    table: ParquetTable, encoder: TableEncoder, task: Task, keep: Sequence[str]
) -> Iterator[NewRows]:
    """The rows of a table to answer for, group by group."""
    import numpy as np

    from meritnas.data.hashed_split import places_of

    _check_kept(keep, table.columns, str(table.path))
    share = min(1.0, _MOST_SCORED / table.rows)
    wanted = encoder.columns | {task.target, *keep}
    for place, group in enumerate(table.groups):
        frame = table.read(place, wanted)
        notes = () if place else _of_first(encoder.unfamiliar(frame), group.rows, table.rows)
        found = _new_rows(frame, task, notes)
        if share < 1.0:
            scored = np.flatnonzero(places_of(group.first, group.rows, 0) < share)
            counted = f"rows with known '{task.target}', drawn at random"
            found = replace(found, scored=scored, counted=counted)
        yield replace(found, kept=frame[list(keep)] if keep else None)


def _check_kept(keep: Sequence[str], columns: Sequence[str], file: str) -> None:
    absent = [name for name in keep if name not in columns]
    if absent:
        close = did_you_mean(absent[0], columns)
        raise DataError(
            f"no column '{absent[0]}' to keep in {file};{close} columns: {listed(columns)}"
        )


def _new_rows(frame: pd.DataFrame, task: Task, notes: Sequence[str]) -> NewRows:
    from meritnas.data.tables.target_numbers import known_answers

    truth = known_answers(frame, task)
    return NewRows(frame, None, truth, notes, f"rows with known '{task.target}'")


def _of_first(notes: Sequence[str], rows: int, every: int) -> Sequence[str]:
    """Notes about the first rows of a table that has more."""
    if rows == every:
        return notes
    return [f"of the first {rows:,} of {every:,} rows: {note}" for note in notes]


def _numbers(places: np.ndarray) -> pd.Index:
    """An index that counts the rows of a table."""
    import pandas as pd

    return pd.Index(places, name="row")


def _is_streamed(source: Source | StreamedTable) -> TypeIs[StreamedTable]:
    from meritnas.data.tables.streamed import StreamedTable

    return isinstance(source, StreamedTable)


TABLES = TableKind()
