"""A Parquet file, or a folder of them, as one table that is read a row group at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from meritnas.data.bundled import BUNDLED
from meritnas.data.columns.names import tidy_names, unique_names
from meritnas.data.files.clean_cells import tidy_table
from meritnas.data.files.parquet import (
    Room,
    claims,
    named_columns,
    read_groups,
    readable,
    text_columns,
)
from meritnas.data.files.parquet_texts import are_texts, read_texts
from meritnas.data.files.plain_file import check_plain_file, given_path
from meritnas.data.memory import machine_memory
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import listed

PARQUET_ENDINGS = (".parquet", ".pq")
STREAMED_SHARE = 0.25
"""Tables that come to more than this share of memory are streamed unless a user says otherwise: in
memory there is the table, and the same as numbers, and a network wants room, too."""

_PIECE = 1 << 22
_AT_ONCE = 1 << 27
"""Bytes of a row group, about, that are read before they are looked at."""
_MOST_PACKED = 100
"""What claims to be so many times its size is a file of tricks, or not worth streaming: it is read
as other files are, and refused if it is too much."""


@dataclass(frozen=True)
class Group:
    """A row group of one of the files.

    Attributes:
        file: its number among the files.
        number: within the file.
        rows: how many it has.
        first: the number of its first row in the whole table.
        size: bytes that it says it unpacks to.
    """

    file: int
    number: int
    rows: int
    first: int
    size: int


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file, or a folder of them, of which only the footers have been read.

    Attributes:
        path: The file or the folder.
        files: The file, or those of the folder by name.
        groups: The row groups of all files, in their order.
        columns: Names of the columns, as `read_table` would have them.
        max_unpacked_mb: How many megabytes one row group may unpack to.
    """

    path: Path
    files: tuple[Path, ...]
    groups: tuple[Group, ...]
    columns: tuple[str, ...]
    max_unpacked_mb: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(group.rows for group in self.groups)

    @property
    def size(self) -> int:
        """Bytes that all of it says it comes to in memory."""
        return sum(group.size for group in self.groups)

    @property
    def is_large(self) -> bool:
        """Whether it comes to more than `STREAMED_SHARE` of this machine's memory."""
        memory = machine_memory()
        if memory is None or self.size <= STREAMED_SHARE * memory:
            return False
        return self.size <= _MOST_PACKED * sum(file.stat().st_size for file in self.files)

    def read(
        self, place: int, only: Collection[str] | None = None, once: Collection[str] = ()
    ) -> pd.DataFrame:
        """The rows of one group; see `pieces`."""
        found = pd.concat(list(self.pieces(place, only, once)), axis=1)
        return found if only is None else found[[name for name in self.columns if name in only]]

    def pieces(
        self, place: int, only: Collection[str] | None = None, once: Collection[str] = ()
    ) -> Iterator[pd.DataFrame]:
        """The rows of one group, some columns at a time, tidied as `read_table` does.

        Text is tidied group by group: where all of a group's texts are numbers these are numbers
        there. Columns that are numbers, dates or categories are read the same either way.

        Args:
            place: Which of `groups`.
            only: Names of the columns to read; None for all.
            once: Names of those that are to be as `texts_once` has them where they are text.

        Raises:
            DataError: The file cannot be read, has changed, or the group unpacks to too much.
        """
        group = self.groups[place]
        path = self.files[group.file]
        room = Room(path, self.max_unpacked_mb)
        room.take(group.size)
        with readable(path):
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                schema, texts = file.schema_arrow, text_columns(file)
            own = named_columns(schema)
            names = dict(zip(own, tidy_names(own), strict=True))
            wanted = [raw for raw in own if only is None or names[raw] in only]
            at_once = max(1, _AT_ONCE * len(own) // max(1, group.size))
            with parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts) as coded:
                for start in range(0, len(wanted), at_once):
                    some = wanted[start : start + at_once]
                    texts = [raw for raw in some if names[raw] in once and are_texts(schema, raw)]
                    plain = [raw for raw in some if raw not in texts]
                    found = read_groups(coded, schema, room, [group.number], plain)
                    if len(found) != group.rows:
                        raise DataError(f"{path} has changed since it was opened; begin anew")
                    found = tidy_table(found.set_axis([names[raw] for raw in plain], axis=1))
                    columns = {name: found[name] for name in found.columns}
                    for raw in texts:
                        name = names[raw]
                        columns[name] = read_texts(coded, group.number, raw, name, room)
                    yield pd.DataFrame({names[raw]: columns[names[raw]] for raw in some})

    def first(self, rows: int) -> pd.DataFrame:
        """The first rows, of all columns."""
        parts, lacking = [], rows
        for place, group in enumerate(self.groups):
            if lacking <= 0:
                break
            pieces = [piece.iloc[:lacking] for piece in self.pieces(place)]
            parts.append(pd.concat(pieces, axis=1))
            lacking -= group.rows
        return pd.concat(parts, ignore_index=True)

    def fingerprint(self) -> str:
        """SHA-256 over the bytes of all files, in hex."""
        digest = hashlib.sha256(json.dumps([path.name for path in self.files]).encode())
        for path in self.files:
            with readable(path), path.open("rb") as file:
                for piece in iter(lambda: file.read(_PIECE), b""):
                    digest.update(piece)
        return digest.hexdigest()


def is_parquet(path: Path) -> bool:
    """Whether a path is a Parquet file, or a folder of them, by its looks."""
    if path.is_dir():
        return bool(_files_in(path))
    return path.name.lower().endswith(PARQUET_ENDINGS)


def open_parquet(path: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> ParquetTable:
    """Looks at the footers of a Parquet file, or of all that a folder has.

    Args:
        path: The file or the folder.
        max_unpacked_mb: How many megabytes one row group may unpack to.

    Raises:
        DataError: A file is not readable, the files of a folder do not have the same columns, or
            there are no rows.
    """
    files = _files_in(path) if path.is_dir() else (path,)
    if not files:
        raise DataError(f"{path} is a folder without Parquet files; name a table file")
    groups: list[Group] = []
    first, schemas = 0, []
    for place, file in enumerate(files):
        check_plain_file(file)
        with readable(file), parquet.ParquetFile(file, pre_buffer=False) as found:
            schemas.append(_columns(found.schema_arrow))
            for number, size in enumerate(claims(found)):
                rows = found.metadata.row_group(number).num_rows
                if rows < 0:
                    raise ValueError(f"row group {number} has {rows} rows")
                if rows:
                    groups.append(Group(place, number, rows, first, size))
                    first += rows
    _check_alike(files, schemas)
    if not groups:
        raise DataError(f"{path} has no rows; a table needs data under its header")
    return ParquetTable(path, files, tuple(groups), tuple(schemas[0]), max_unpacked_mb)


def to_stream(
    data: object, asked: bool | None, max_unpacked_mb: int = MAX_UNPACKED_MB
) -> ParquetTable | None:
    """The Parquet table that some data is, if it is to be streamed; else None.

    Args:
        data: As a user gave it.
        asked: Whether a user wants that; None to decide by its size.
        max_unpacked_mb: How many megabytes one row group may unpack to.

    Raises:
        DataError: A user wants to stream what is no Parquet, or several columns have one name.
    """
    path = given_path(data) if isinstance(data, str | Path) else None
    if asked is False or (asked is None and (path is None or not is_parquet(path))):
        return None
    if path is None or str(data) in BUNDLED or not is_parquet(path):
        what = "data in memory" if path is None else str(path)
        raise DataError(
            f"only Parquet files, or a folder of them, are streamed, and {what} is none; leave "
            "out stream (--stream), or write the table as Parquet"
        )
    if not path.exists():
        raise DataError(f"no file {path}; check the path")
    found = open_parquet(path, max_unpacked_mb)
    if not (asked or found.is_large):
        return None
    _check_names(found)
    return found


def read_parquet_folder(path: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> pd.DataFrame:
    """Reads all files of a folder into memory, as one table that is not tidied yet.

    Raises:
        DataError: As `open_parquet` says, or all of them unpack to too much.
    """
    table = open_parquet(path, max_unpacked_mb)
    room = Room(path, max_unpacked_mb, sum(file.stat().st_size for file in table.files))
    room.take(table.size)
    return pd.concat([_all_of(file, room) for file in table.files], ignore_index=True)


def _all_of(path: Path, room: Room) -> pd.DataFrame:
    with readable(path):
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            schema, texts = file.schema_arrow, text_columns(file)
        with parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts) as coded:
            return read_groups(coded, schema, room)


def _files_in(folder: Path) -> tuple[Path, ...]:
    """A folder's Parquet files by name; what others leave beside theirs begins with _ or a dot."""
    try:
        found = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        raise DataError(f"cannot read the folder {folder} ({error.strerror})") from error
    return tuple(
        path
        for path in found
        if path.name.lower().endswith(PARQUET_ENDINGS)
        and not path.name.startswith(("_", "."))
        and path.is_file()
    )


def _columns(schema: pa.Schema) -> dict[str, pa.DataType]:
    """Tidy names of a file's columns, and what each holds; of those of one name, the first."""
    own = named_columns(schema)
    kinds = (_plain_kind(schema.field(schema.names.index(name)).type) for name in own)
    return dict(zip(unique_names(tidy_names(own)), kinds, strict=True))


def _check_names(table: ParquetTable) -> None:
    """Complains about columns of one name, which cannot be read one by one."""
    for file in table.files:
        with readable(file), parquet.ParquetFile(file, pre_buffer=False) as found:
            names = found.schema_arrow.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"{file} has columns of the same name: {listed(twice)}; rename them")


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    """A type without how its values are kept: as they are, repeated once, or in larger blocks."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return pa.string() if text or str(kind) == "string_view" else kind


def _check_alike(files: tuple[Path, ...], schemas: list[dict[str, pa.DataType]]) -> None:
    """Complains about files of a folder that are not parts of one table."""
    for file, differing in _differences(files, schemas):
        raise DataError(
            f"{file} and {files[0]} are not parts of one table, these columns differ: "
            f"{listed(differing)}; write all files of a folder with the same columns"
        )


def _differences(
    files: tuple[Path, ...], schemas: list[dict[str, pa.DataType]]
) -> Iterator[tuple[Path, list[str]]]:
    """Files with columns that the first has not, or of other types; all missing fits any."""
    for file, schema in zip(files[1:], schemas[1:], strict=True):
        first = schemas[0]
        differing = sorted(first.keys() ^ schema.keys())
        for name in first.keys() & schema.keys():
            kinds = {first[name], schema[name]} - {pa.null()}
            differing += [name] if len(kinds) > 1 else []
        if differing:
            yield file, differing
