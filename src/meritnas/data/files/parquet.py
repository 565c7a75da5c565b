"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from meritnas.data.columns.names import unique_names
from meritnas.data.files.plain_file import check_plain_file
from meritnas.data.files.unpacking import most_unpacked, too_much
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB

_READS = 64
_ROWS_AT_ONCE = 1 << 20
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}
"""Bytes of a value by how it is stored; of all others that tell nothing, 8."""
_TEXT = "BYTE_ARRAY"
_UNNAMED = "__index_level_"
_DAMAGES = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError)
"""How reading fails: types may be such that pandas has none, and sizes such as nobody has."""


def read_parquet(path: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> pd.DataFrame:
    """Reads a parquet file a few columns at a time, so that it is never in memory twice.

    An index that has a name is a column like the others, one without is left out.

    Args:
        path: The file.
        max_unpacked_mb: How many megabytes it may unpack to: what is the same in all rows takes no
            place in such a file.

    Raises:
        DataError: The file is not readable, or unpacks to too much.
    """
    check_plain_file(path)
    with readable(path):
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            texts = _check_claims(file, Room(path, max_unpacked_mb))
        # Text that repeats itself is kept once, until it is known how much it comes to.
        with parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts) as coded:
            return read_groups(coded, file.schema_arrow, Room(path, max_unpacked_mb))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Inside, what goes wrong with a file is said in one line that names it."""
    try:
        yield
    except DataError:
        raise
    except _DAMAGES as error:
        raise DataError(
            f"{path} is not a readable parquet file ({error}); write it anew"
        ) from error


class Room:
    """How many bytes a file, or the files of a folder, may still unpack to."""

    def __init__(self, path: Path, max_unpacked_mb: int, own: int | None = None) -> None:
        self._left = most_unpacked(path, max_unpacked_mb, own)
        self._error = too_much(path, max_unpacked_mb)

    def take(self, size: int) -> None:
        """Complain where there is not so much left."""
        self._left -= size
        if self._left < 0:
            raise self._error


def _check_claims(file: Any, room: Room) -> list[str]:
    """Checks what a file says it comes to, without repeated text; returns its columns of text."""
    for claim in claims(file):
        room.take(claim)
    return text_columns(file)


def claims(file: Any) -> list[int]:
    """How many bytes each row group says that it comes to, without repeated text.

    Not by what it says about each piece of a column: where that is damaged, asking for it ends the
    process.
    """
    columns = map(file.schema.column, range(len(file.schema)))
    width = sum(_WIDTHS.get(column.physical_type, 8) for column in columns)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    return [max(group.num_rows * width, group.total_byte_size, 0) for group in groups]


def text_columns(file: Any) -> list[str]:
    """Paths of the columns that hold text."""
    columns = map(file.schema.column, range(len(file.schema)))
    return [column.path for column in columns if column.physical_type == _TEXT]


def named_columns(schema: pa.Schema) -> list[str]:
    """Names of a file's columns, each once, without a frame's index that has no name."""
    unnamed = _unnamed(schema)
    return list(dict.fromkeys(name for name in schema.names if name not in unnamed))


def read_groups(
    file: Any,
    schema: pa.Schema,
    room: Room,
    groups: Sequence[int] | None = None,
    only: Collection[str] | None = None,
) -> pd.DataFrame:
    """Reads an open file's row groups.

    Args:
        file: Opened so that it keeps repeated text once.
        schema: As the file has it when it is opened plainly.
        room: For what it comes to.
        groups: Their numbers; None for all.
        only: Names of the columns to read; None for all.

    Raises:
        DataError: There is too much of it. Besides this, what Arrow raises.
    """
    names = schema.names
    wanted = [name for name in named_columns(schema) if only is None or name in only]
    numbers = list(range(file.num_row_groups)) if groups is None else list(groups)
    size = max(1, len(wanted) // _READS)
    columns: list[tuple[str, pd.Series]] = []
    for start in range(0, len(wanted), size):
        columns += _read_some(file, schema, wanted[start : start + size], room, numbers)
    pa.default_memory_pool().release_unused()
    # A name that occurs twice was read together; put it back where it was.
    order = {name: place for place, name in reversed(list(enumerate(names)))}
    columns.sort(key=lambda column: order[column[0]])
    frame = pd.DataFrame(dict(enumerate(series for _, series in columns)), copy=False)
    if not columns:
        rows = sum(file.metadata.row_group(number).num_rows for number in numbers)
        frame = pd.DataFrame(index=range(rows))
    return frame.set_axis(unique_names(name for name, _ in columns), axis=1)


def _unnamed(schema: pa.Schema) -> set[str]:
    """The columns that were a frame's index without a name; none where the note is none."""
    try:
        note = schema.pandas_metadata
    except (ValueError, RecursionError):
        return set()
    found = note.get("index_columns") if isinstance(note, dict) else None
    indexes = found if isinstance(found, list) else []
    return {name for name in indexes if isinstance(name, str) and name.startswith(_UNNAMED)}


def _read_some(
    file: Any, schema: pa.Schema, names: list[str], room: Room, groups: list[int]
) -> list[tuple[str, pd.Series]]:
    pieces = [_plain(piece, schema, set(names), room) for piece in _pieces(file, names, groups)]
    table = pa.concat_tables([table for table, _ in pieces])
    found = pieces[0][1]
    del pieces
    frame = table.to_pandas(
        split_blocks=True, self_destruct=True, date_as_object=False, ignore_metadata=True
    )
    return list(zip(found, (series for _, series in frame.items()), strict=True))


def _pieces(file: Any, names: list[str], wanted: list[int]) -> Iterator[pa.Table]:
    """Yields some columns, not much more than a million rows at a time unless they are one piece.

    Raises what Arrow raises.
    """
    groups: list[int] = []
    rows = 0
    for number in wanted:
        groups.append(number)
        rows += file.metadata.row_group(number).num_rows
        if rows >= _ROWS_AT_ONCE or number == wanted[-1]:
            yield file.read_row_groups(groups, columns=names, use_threads=False)
            groups, rows = [], 0
    if not wanted:
        yield file.read(columns=names, use_threads=False)


def _plain(
    table: pa.Table, schema: pa.Schema, names: set[str], room: Room
) -> tuple[pa.Table, list[str]]:
    """Returns the columns by number with the types that they are to have, and their names."""
    # Asking for a also gives a.b.
    asked = [place for place, name in enumerate(table.column_names) if name in names]
    found = [table.column_names[place] for place in asked]
    kinds = {name: [field.type for field in schema if field.name == name] for name in names}
    arrays = []
    for place, name in zip(asked, found, strict=True):
        values = table.column(place)
        check_text(values, room)
        arrays.append(values.cast(_kind(kinds[name].pop(0))))
    return pa.table(arrays, names=[str(place) for place in range(len(arrays))]), found


def check_text(values: pa.ChunkedArray, room: Room) -> None:
    """Complains about text that is none, or too much where it is repeated."""
    values.validate(full=True)  # text that is no UTF-8 would be found out much later
    room.take(sum(map(_letters, values.chunks)))


def _kind(kind: pa.DataType) -> pa.DataType:
    """The type of a column: decimals are floats, as pandas would make a Python object of each."""
    if pa.types.is_decimal(kind):
        return pa.float64()
    return {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(kind), kind)


def _letters(values: pa.Array) -> int:
    """How many bytes repeated text in an array comes to."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        text = pa.types.is_string(kind.value_type) or pa.types.is_binary(kind.value_type)
        if not text or not len(values):
            return 0
        sizes = compute.binary_length(values.dictionary)
        return int(compute.sum(compute.take(sizes, values.indices)).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_letters, values.flatten()))
    if pa.types.is_map(kind):
        return _letters(values.keys) + _letters(values.items)
    return _letters(values.flatten()) if pa.types.is_nested(kind) else 0
