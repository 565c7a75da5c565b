"""Tables in Parquet files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from meritnas.data.columns.names import unique_names
from meritnas.errors import DataError

_READS = 64


def read_parquet(path: Path) -> pd.DataFrame:
    """Reads a parquet file a few columns at a time, so that it is never in memory twice.

    An index that has a name is a column like the others, one without is left out.

    Raises:
        DataError: The file is not readable.
    """
    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            return _read(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"{path} is not a readable parquet file ({error}); write it anew"
        ) from error


def _read(file: parquet.ParquetFile) -> pd.DataFrame:
    names = file.schema_arrow.names
    metadata = file.schema_arrow.pandas_metadata or {}
    unnamed = {index for index in metadata.get("index_columns", []) if isinstance(index, str)}
    unnamed = {index for index in unnamed if index.startswith("__index_level_")}
    wanted = list(dict.fromkeys(name for name in names if name not in unnamed))
    size = max(1, len(wanted) // _READS)
    columns: list[tuple[str, pd.Series]] = []
    for start in range(0, len(wanted), size):
        columns += _read_some(file, wanted[start : start + size])
    pa.default_memory_pool().release_unused()
    # A name that occurs twice was read together; put it back where it was.
    order = {name: place for place, name in reversed(list(enumerate(names)))}
    columns.sort(key=lambda column: order[column[0]])
    frame = pd.DataFrame(dict(enumerate(series for _, series in columns)), copy=False)
    if not columns:
        frame = pd.DataFrame(index=range(file.metadata.num_rows))
    return frame.set_axis(unique_names(name for name, _ in columns), axis=1)


def _read_some(file: parquet.ParquetFile, names: list[str]) -> list[tuple[str, pd.Series]]:
    table = file.read(columns=names, use_threads=False)
    # Asking for a also gives a.b.
    asked = [place for place, name in enumerate(table.column_names) if name in set(names)]
    found = [table.column_names[place] for place in asked]
    arrays = [_plain(table.column(place)) for place in asked]
    table = pa.table(arrays, names=[str(place) for place in range(len(arrays))])
    del arrays
    frame = table.to_pandas(
        split_blocks=True, self_destruct=True, date_as_object=False, ignore_metadata=True
    )
    return list(zip(found, (series for _, series in frame.items()), strict=True))


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns decimals as floats: pandas would make a Python object of each."""
    return values.cast(pa.float64()) if pa.types.is_decimal(values.type) else values
