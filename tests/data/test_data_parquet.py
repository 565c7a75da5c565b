from __future__ import annotations

import datetime
import decimal
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table
from meritnas.errors import DataError


@pytest.mark.parametrize("ending", [".parquet", ".pq"])
def test_parquet(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    pd.DataFrame({" a": [1, 2], "b": [" x ", "?"]}).to_parquet(path)
    frame = read_table(path)
    assert list(frame.columns) == ["a", "b"]
    assert frame["b"].tolist()[0] == "x"
    assert frame["b"].isna().tolist() == [False, True]


def test_without_rows(tmp_path: Path) -> None:
    pd.DataFrame({"a": [], "b": []}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "t.parquet")


def test_types(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "f": [1.5, None],
            "i": pd.array([1, None], dtype="Int64"),
            "t": [True, None],
            "s": ["x", None],
            "k": pd.Categorical(["p", "q"]),
            "when": pd.to_datetime(["2024-01-05", None]),
            "zone": pd.to_datetime(["2024-01-05", None]).tz_localize("Europe/Rome"),
            "day": [datetime.date(2024, 1, 5), None],
            "exact": [decimal.Decimal("1.25"), None],
            "list": [[1], [2, 3]],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=1)
    found = read_table(tmp_path / "t.parquet")
    assert list(found.columns) == list(frame.columns)
    assert found["f"].dtype == found["i"].dtype == found["exact"].dtype == np.float64
    assert found["exact"].tolist()[0] == 1.25
    assert found["t"].tolist() == [True, None]
    assert found["k"].tolist() == ["p", "q"]
    assert found["zone"][0] == frame["zone"][0]
    assert found["when"].dtype.kind == found["day"].dtype.kind == "M"
    twice = pd.concat([found, found.assign(f=2.5, s="y")], ignore_index=True)
    assert TableEncoder.fit(twice).transform(found).shape[0] == 2


def test_indexes_and_names(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"a": [1, 2], "a.b": [3, 4]}, index=[7, 5])
    frame.to_parquet(path)
    assert read_table(path).to_dict("list") == {"a": [1, 2], "a.b": [3, 4]}
    frame.rename_axis("key").to_parquet(path)
    assert read_table(path).to_dict("list") == {"a": [1, 2], "a.b": [3, 4], "key": [7, 5]}
    assert read_table(path).index.tolist() == [0, 1]
    columns = [pa.array([1, 2]), pa.array(["x", "y"]), pa.array([3, 4])]
    parquet.write_table(pa.table(columns, names=["a", "b", "a"]), path)
    assert read_table(path)["a"].tolist() == [1, 2]
    assert sorted(read_table(path).columns) == ["a", "a.1", "b"]


def test_many_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 700)))
    frame.columns = [f"c{k}" for k in range(700)]
    frame.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), frame)


MEASURE = """
import sys
import numpy as np
import pandas as pd
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.tables.source import load_source

def memory(which):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(which)).split()[1])

def load_and_encode(path):
    source = load_source(path, "y")
    features = source.frame.drop(columns="y")
    encoder = TableEncoder.fit(features, np.arange(0, len(features), 2), "quantile")
    return source.frame, encoder.transform(features)

load_and_encode(sys.argv[1])
before = memory("VmRSS")
frame, inputs = load_and_encode(sys.argv[2])
print((memory("VmHWM") - before) / frame.memory_usage(deep=True).sum())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to measure by")
def test_a_long_table_is_not_in_memory_twice(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 500_000
    frame = pd.DataFrame({f"x{k}": rng.random(rows) for k in range(16)})
    frame["count"] = rng.integers(0, 1000, rows)
    frame["gap"] = frame["x0"].where(frame["x1"] > 0.1)
    frame["city"] = np.array(["Bonn", "Rome", "Ulm"])[rng.integers(0, 3, rows)]
    frame["y"] = rng.integers(0, 2, rows)
    plain: dict[str, Any] = {"compression": None, "use_dictionary": False}
    frame.to_parquet(tmp_path / "long.parquet", row_group_size=100_000, **plain)
    frame.iloc[:1000].to_parquet(tmp_path / "short.parquet")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, "short.parquet", "long.parquet"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert float(done.stdout) < 2
