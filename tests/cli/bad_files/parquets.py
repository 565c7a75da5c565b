"""Parquet files; what is read is a frame."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from bad_files.case import Case, Maker, refused
from pyarrow import parquet

N = 12


def stored(table: pa.Table | dict[str, Any], **options: Any) -> Maker:
    """A file of these columns, with a number beside them."""

    def make(folder: Path) -> Path:
        path = folder / "t.parquet"
        whole = table if isinstance(table, pa.Table) else pa.table({"n": range(N), **table})
        parquet.write_table(whole, path, **options)
        return path

    return make


def changed(change: Callable[[bytes], bytes]) -> Maker:
    """A good file with other bytes."""

    def make(folder: Path) -> Path:
        path = stored({"b": list("abc") * 4})(folder)
        path.write_bytes(change(path.read_bytes()))
        return path

    return make


def read(table: pa.Table | dict[str, Any], right: Callable[[pd.DataFrame], bool]) -> Case:
    return Case(stored(table), reads=right)


def column(kind: str) -> Callable[[pd.DataFrame], bool]:
    """Whether the column x is there, with values of this kind by pandas' inference."""
    return lambda frame: pd.api.types.infer_dtype(frame["x"], skipna=True) == kind


def note(text: bytes) -> Maker:
    """A file whose note for pandas is this."""
    return stored(pa.table({"n": range(N)}).replace_schema_metadata({b"pandas": text}))


def numbered(frame: pd.DataFrame) -> bool:
    """Whether there is the number alone."""
    return list(frame) == ["n"] and len(frame) == N


def repeated(values: pa.Array, times: int) -> pa.Table:
    """What takes next to nothing in a file: few values, over and over."""
    indices = pa.array([k % len(values) for k in range(times)], pa.int32())
    return pa.table({"x": pa.DictionaryArray.from_arrays(indices, values).cast(values.type)})


LONG = pa.array(["x" * 20_000, "y" * 20_000])
FEW = ("--max-unpacked-mb", "2")

PARQUETS: dict[str, Case] = {
    "empty": refused("t.parquet", b"", "not a readable parquet"),
    "text": refused("t.parquet", b"a,b\n1,2\n", "not a readable parquet"),
    "magic alone": refused("t.parquet", b"PAR1", "not a readable parquet"),
    "magic twice": refused("t.parquet", b"PAR1\x00\x00\x00\x00PAR1", "not a readable parquet"),
    "a long footer": refused("t.pq", b"PAR1\xff\xff\xff\x7fPAR1", "not a readable parquet"),
    "cut off": Case(changed(lambda c: c[: len(c) // 2]), "not a readable parquet"),
    "its beginning cut off": Case(changed(lambda c: c[40:]), "not a readable parquet"),
    "zeros in its footer": Case(
        changed(lambda c: c[:-60] + bytes(50) + c[-10:]), "not a readable parquet"
    ),
    "zeros in its data": Case(changed(lambda c: c[:4] + bytes(60) + c[64:]), "parquet"),
    "no rows": Case(stored(pa.table({"a": pa.array([], pa.int64())})), "no rows"),
    "no columns": Case(stored(pa.table({})), "no rows"),
    "no columns but rows": Case(
        stored(
            pa.table({"__index_level_0__": range(5)}).replace_schema_metadata(
                {b"pandas": b'{"index_columns": ["__index_level_0__"], "columns": []}'}
            )
        ),
        "no column is left",
    ),
    "no row groups": Case(
        stored(pa.table({"a": pa.array([], pa.int64())}), row_group_size=1), "no rows"
    ),
    "a note that is no JSON": Case(note(b"{"), reads=numbered),
    "a note that is a list": Case(note(b"[1]"), reads=numbered),
    "a note of a number": Case(note(b'{"index_columns": 5}'), reads=numbered),
    "a deep note": Case(note(b"[" * 100_000), reads=numbered),
    "a note of another index": Case(
        note(b'{"index_columns": [{"kind": "range"}, 7]}'), reads=lambda f: f.shape == (N, 1)
    ),
    "lists": read({"x": [[1, 2]] * N}, column("mixed")),
    "lists of text": read({"x": [["a", "b"]] * N}, column("mixed")),
    "lists of lists": read({"x": [[[1], [2, 3]]] * N}, column("mixed")),
    "structs": read({"x": [{"a": 1, "b": "c"}] * N}, column("mixed")),
    "maps": read(
        {"x": pa.array([[("k", "v")]] * N, pa.map_(pa.string(), pa.string()))}, column("mixed")
    ),
    "nulls": read({"x": pa.nulls(N)}, lambda f: f["x"].isna().all()),
    "decimals": read({"x": pa.array([decimal.Decimal("1.50")] * N)}, column("floating")),
    "long decimals": read(
        {"x": pa.array([decimal.Decimal(10) ** 60] * N, pa.decimal256(70, 2))}, column("floating")
    ),
    "dates": read({"x": [dt.date(2024, 1, 1 + k) for k in range(N)]}, column("datetime64")),
    "dates far away": read(
        {"x": [dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 6}, column("datetime64")
    ),
    "times far away": Case(
        stored({"x": pa.array([-(10**15), 10**15] * 6, pa.timestamp("s"))}), "year 9999"
    ),
    "times beyond nanoseconds": Case(
        stored({"x": pa.array([2**62, -(2**62)] * 6, pa.timestamp("us"))}), "year 9999"
    ),
    "times with a zone": read(
        {"x": pa.array(range(N), pa.timestamp("ms", "Europe/Rome"))}, lambda f: len(f) == N
    ),
    "times in no zone there is": Case(
        stored({"x": pa.array(range(N), pa.timestamp("ms", "Moon/Base"))}), "parquet"
    ),
    "times of day": read({"x": pa.array(range(N), pa.time64("us"))}, column("time")),
    "durations": read({"x": pa.array(range(N), pa.duration("s"))}, column("timedelta64")),
    "bytes": read({"x": [b"\xff\x00"] * N}, column("bytes")),
    "fixed bytes": read({"x": pa.array([b"abc"] * N, pa.binary(3))}, column("bytes")),
    "text that is no UTF-8": Case(
        stored({"x": pa.array([b"\xff\xfe"] * N).view(pa.string())}), "parquet"
    ),
    "large text": read({"x": pa.array(list("ab") * 6, pa.large_string())}, column("string")),
    "views of text": read({"x": pa.array(list("ab") * 6, pa.string_view())}, column("string")),
    "codes": read(
        {"x": pa.array(list("ab") * 6).dictionary_encode()}, lambda f: set(f["x"]) == {"a", "b"}
    ),
    "codes of numbers": read(
        {"x": pa.array([5, 6] * 6).dictionary_encode()}, lambda f: set(f["x"]) == {5, 6}
    ),
    "truth values": read({"x": [True, False] * 6}, column("boolean")),
    "halves": read({"x": pa.array([0.5] * N, pa.float16())}, column("floating")),
    "unsigned numbers": read({"x": pa.array([2**64 - 1, 0] * 6, pa.uint64())}, column("integer")),
    "a name twice": read(
        pa.table([range(N), range(N)], names=["a", "a"]), lambda f: list(f) == ["a", "a.1"]
    ),
    "an empty name": read({"": range(N)}, lambda f: f.shape == (N, 2)),
    "names with dots": read({"n.x": range(N)}, lambda f: list(f) == ["n", "n.x"]),
    "names a terminal obeys": read({"\x1b[2J": range(N)}, lambda f: f.shape == (N, 2)),
    "one number, over and over": Case(
        stored(pa.table({"x": pa.array([7] * 1_000_000)})), "--max-unpacked-mb", options=FEW
    ),
    "one text, over and over": Case(
        stored(repeated(LONG, 5_000)), "--max-unpacked-mb", options=FEW
    ),
    "a list of one text": Case(
        stored(pa.table({"x": [["z" * 20_000] * 100] * 50})), "--max-unpacked-mb", options=FEW
    ),
    "one long text, packed": Case(
        stored(pa.table({"x": ["w" * 5_000_000]}), compression="gzip", use_dictionary=False),
        "--max-unpacked-mb",
        options=FEW,
    ),
}
