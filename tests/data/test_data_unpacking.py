from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meritnas.data.files.archive import opened_archive
from meritnas.data.files.parquet import read_parquet
from meritnas.data.files.table import read_table
from meritnas.data.files.unpacking import most_unpacked, unpack_gzip
from meritnas.data.images.reading import ImageReading
from meritnas.data.kinds import KINDS, kind_named, load_again
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, UsageError

MB = 1_000_000
REFUSED = (
    r"unpacks to more than 2 MB; if that is right .* larger max_unpacked_mb "
    r"\(--max-unpacked-mb on the line\)"
)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def peak(run: object) -> int:
    """The most bytes that were in use at once."""
    tracemalloc.start()
    try:
        run()  # type: ignore[operator]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_unpacking_stops_where_it_is_too_much(tmp_path: Path) -> None:
    content = gzip.compress(bytes(60 * MB))
    path = written(tmp_path / "t.csv.gz", content)

    def unpack() -> None:
        with pytest.raises(DataError, match=r"t\.csv\.gz " + REFUSED):
            unpack_gzip(content, path, 2)

    assert peak(unpack) < 8 * MB


def test_an_archive_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=np.zeros(60 * MB, dtype=np.uint8), small=np.ones(3))

    def load() -> None:
        with opened_archive(path, "float32", 2) as archive:
            assert archive.array("small").tolist() == [1, 1, 1]
            with pytest.raises(DataError, match=r"a\.npz " + REFUSED):
                archive.array("images")

    assert peak(load) < 8 * MB


def test_what_is_not_packed_may_be_as_large_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, images=np.zeros(3 * MB, dtype=np.uint8))
    assert most_unpacked(path, 2) == path.stat().st_size > 3 * MB
    with opened_archive(path, "float32", 2) as archive:
        assert archive.array("images").shape == (3 * MB,)
    rows = np.arange(500_000, dtype=np.float64)
    pd.DataFrame({"a": rows, "b": np.random.default_rng(0).random(500_000)}).to_parquet(
        tmp_path / "t.parquet", compression=None
    )
    assert read_parquet(tmp_path / "t.parquet", 2).shape == (500_000, 2)
    path = written(tmp_path / "t.csv", b"a,b\n" + b"1,2\n" * 800_000)
    assert read_table(path, max_unpacked_mb=2).shape == (800_000, 2)


def test_more_is_read_where_more_is_allowed(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 800_000))
    with pytest.raises(DataError, match=REFUSED):
        read_table(path, max_unpacked_mb=2)
    assert read_table(path, max_unpacked_mb=4).shape == (800_000, 2)


def test_a_run_reads_its_data_again_by_the_same_cap(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n2,3\n" * 400_000))
    allowed = TableReading(max_unpacked_mb=4)
    kind = kind_named("table")
    source = kind.load(str(path), "a", allowed)
    kept = {
        "kind": "table",
        "location": source.location,
        "fingerprint": source.fingerprint,
        **kind.remembered(source, allowed),
    }
    assert load_again(kept, None, "run", allowed).fingerprint == source.fingerprint
    with pytest.raises(DataError, match=REFUSED):
        load_again(kept, None, "run", TableReading(max_unpacked_mb=2))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_reading_has_the_cap(kind: object) -> None:
    reading = kind.reading  # type: ignore[attr-defined]
    assert reading().max_unpacked_mb == 4_000
    given = reading(max_unpacked_mb=7)
    assert reading.from_json(json.loads(json.dumps(given.to_json()))) == given
    old = {name: value for name, value in given.to_json().items() if name != "max_unpacked_mb"}
    assert reading.from_json(old).max_unpacked_mb == 4_000  # of a run that knew no cap
    for wrong in (0, -1, 1.5, "much"):
        with pytest.raises(UsageError, match="max_unpacked_mb must be"):
            reading(max_unpacked_mb=wrong)


def test_the_cap_is_asked_for_by_its_name_only() -> None:
    with pytest.raises(TypeError):
        ImageReading(None, None, None, None, None, None, 7)  # type: ignore[misc]
