"""How much memory does a long table take, and how much time a wide one?

Long: a Parquet file of `--rows` rows and 21 columns (numbers, whole numbers, text) is loaded,
fingerprinted, split and encoded as a search does it, in a process of its own. The ratio is that
process' peak memory (above what it had before) to the table's memory as a data frame. The
target: below 2, so the table does not have to fit into memory twice.

Wide: a CSV of 2,000 rows and `--columns` numbers; seconds to read it, beside pandas alone, and to
decide on all columns and encode them.

    python benchmarks/tables.py --rows 5000000 --columns 10000
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table
from scoreboard import Target, arguments, finish, show

_MOST = 2.0

_LONG = """
import sys
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.source import load_source

def memory(key):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(key))

before = memory("VmRSS")
source = load_source(sys.argv[1], "y")
loaded = memory("VmHWM") - before
bundle = make_bundle(source, 0)
peak = memory("VmHWM") - before
print(source.frame.memory_usage(deep=True).sum(), loaded, peak)
"""


def long_table(rows: int, folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{k}": rng.normal(size=rows) for k in range(14)})
    for k in range(4):
        frame[f"i{k}"] = rng.integers(0, 1000, rows)
    frame["city"] = pd.Series(rng.choice(["Rome", "Oslo", "Lima"], rows))
    frame["code"] = pd.Series(rng.choice([f"c{k}" for k in range(500)], rows))
    frame["y"] = rng.integers(0, 2, rows)
    path = folder / "long.parquet"
    frame.to_parquet(path)
    del frame
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _LONG, str(path)], capture_output=True, text=True, check=True
    )
    table, loaded, peak = (int(number) for number in done.stdout.split())
    return {
        "table": "long",
        "rows": rows,
        "columns": 21,
        "megabytes": table / 1e6,
        "loaded / table": loaded / table,
        "peak / table": peak / table,
        "seconds": time.perf_counter() - begun,
    }


def wide_table(columns: int, folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, columns)).round(4))
    frame.columns = [f"n{k}" for k in range(columns)]
    path = folder / "wide.csv"
    frame.to_csv(path, index=False)

    def seconds(work: Any) -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    pandas_alone = seconds(lambda: pd.read_csv(path))
    ours = seconds(lambda: read_table(path))
    found: dict[str, float] = {}
    for scaling in ("standard", "quantile"):
        found[scaling] = seconds(lambda: TableEncoder.fit(frame, None, scaling).transform(frame))  # noqa: B023
    return {
        "table": "wide",
        "rows": 2000,
        "columns": columns,
        "read": ours,
        "read / pandas": ours / pandas_alone,
        "encode, standard": found["standard"],
        "encode, quantile": found["quantile"],
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=10_000)
    args = parser.parse_args()
    if args.quick:
        args.rows, args.columns = 2_000, 50
    with tempfile.TemporaryDirectory() as folder:
        rows = [long_table(args.rows, Path(folder)), wide_table(args.columns, Path(folder))]
    for row in rows:
        show(f"{row['table']} table", [row])
    ratio = float(rows[0]["peak / table"])
    target = Target(f"peak memory below {_MOST} times the table", f"{ratio:.2f}", ratio < _MOST)
    return finish(rows, [target], args)


if __name__ == "__main__":
    sys.exit(main())
