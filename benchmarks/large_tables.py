"""A table of Criteo's shape that is streamed: time and memory as the number of rows grows.

Makes a folder of Parquet files (13 numbers, 26 categories of up to millions of values, a class),
piece by piece; then, in a process of its own:

- the pass: the task and the encoder, which is one look at the target and one at all columns, and
  a hash of the files;
- some steps of an epoch: reading, encoding and shuffling training rows;
- with `--search`, a search, and the same one killed at its first checkpoint and resumed: each a
  command in a process. Both must find the same network with the same weights and scores.

Memory is the most that a process had resident at once, imports included. Where other work is on
the machine, CPU seconds tell more than seconds. A table takes some 105 MB of disk for a million
rows; there is one at a time, and it is deleted before the next is made, and where the script ends.

    python benchmarks/large_tables.py --rows 1000000,10000000 --folder /tmp --json large.json
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from scoreboard import Target, arguments, finish, show

MOST_MEMORY = 2000
NUMBERS = 13
CATEGORIES = (
    *(3, 4, 10, 18, 27, 100, 300, 600, 900, 1_500, 2_000, 3_000, 5_000, 6_000, 8_000, 10_000),
    *(12_000, 15_000, 90_000, 140_000, 300_000, 500_000, 2_000_000, 3_000_000, 5_000_000),
    10_000_000,
)
GROUP = 100_000
_STEPS = 300
FILE = 1_000_000
MOST_DISK_A_ROW = 130
"""Bytes, more than there are."""
SEARCH = (
    *("--target", "label", "--stream", "--max-params", "200k", "--epochs", "1"),
    *("--retrain-epochs", "1", "--retrain-seeds", "1", "--finalists", "1", "--no-plain"),
    *("--scaling", "standard", "--no-yardstick", "--dropout", "0", "--threads", "1", "--quiet"),
)
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)


def texts(numbers: np.ndarray) -> pa.Array:
    """Eight hexadecimal digits each, as Criteo's are."""
    scattered = (numbers.astype(np.uint64) * 2654435761 % 2**32).astype(">u4")
    letters = _HEX[scattered.view(np.uint8)].tobytes()
    ends = np.arange(0, 8 * len(numbers) + 1, 8, dtype=np.int32)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(letters))


def group(rows: int, seed: int) -> pa.Table:
    """Some rows; frequent categories have low ranks, and the class depends on a few columns."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    score = rng.normal(0, 1, rows)
    for place in range(NUMBERS):
        values = np.floor(rng.lognormal(2, 1 + place / 8, rows))
        if place < 4:
            score += 0.4 * (np.log1p(values) - 2)
        values[rng.random(rows) < 0.03 * place] = np.nan
        columns[f"n{place + 1}"] = pa.array(values, from_pandas=True)
    for place, many in enumerate(CATEGORIES):
        ranks = (many * rng.random(rows) ** 4).astype(np.int64)
        if 4 <= place < 20:
            score += 0.3 * np.sin(ranks + place)
        columns[f"c{place + 1}"] = texts(ranks + place * 100_000_007)
    columns["label"] = pa.array((score > 1).astype(np.int8))
    return pa.table(columns)


def write(folder: Path, rows: int, makers: int = 1) -> None:
    """A folder of files of a million rows, in groups of a hundred thousand.

    Args:
        folder: Is made.
        rows: How many.
        makers: Processes that make it; the table is the same however many there are.
    """
    folder.mkdir()
    needed = MOST_DISK_A_ROW * rows
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SystemExit(
            f"{rows:,} rows need {needed / 1e9:.1f} GB of disk, and there are {free / 1e9:.1f} GB "
            f"at {folder}; name another place with --folder"
        )
    parts = range(math.ceil(rows / FILE))
    sizes = [min(FILE, rows - part * FILE) for part in parts]
    if makers == 1:
        for part in parts:
            write_file(folder, part, sizes[part])
        return
    with ProcessPoolExecutor(makers, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(write_file, [folder] * len(parts), parts, sizes))


def write_file(folder: Path, part: int, rows: int) -> None:
    """One of the files."""
    sizes = [min(GROUP, rows - start) for start in range(0, rows, GROUP)]
    pieces = (group(size, part * 1000 + place) for place, size in enumerate(sizes))
    first = next(pieces)
    with parquet.ParquetWriter(folder / f"part-{part:03}.parquet", first.schema) as writer:
        writer.write_table(first, row_group_size=GROUP)
        for piece in pieces:
            writer.write_table(piece, row_group_size=GROUP)


def measure(folder: Path) -> dict[str, Any]:
    """The pass for the encoder, and some steps of an epoch, in this process."""
    from meritnas.data.files.parquet_table import open_parquet
    from meritnas.data.stream import BatchStream
    from meritnas.data.tables.streamed import StreamedTable, encode_streamed, outline_streamed

    begun, busy = time.perf_counter(), time.process_time()
    table = open_parquet(folder)
    source = StreamedTable.of(table, "label")
    bundle = encode_streamed(source, outline_streamed(source, 0), "standard", 5_000)
    seconds, own = time.perf_counter() - begun, time.process_time() - busy
    after_pass = peak_mb(resource.RUSAGE_SELF)
    stream = BatchStream(bundle.train, 4096, 0)
    steps = min(stream.steps_per_epoch, _STEPS)
    begun, busy = time.perf_counter(), time.process_time()
    for _ in range(steps):
        stream.next()
    return {
        "rows": table.rows,
        "pass_seconds": round(seconds, 1),
        "pass_cpu_seconds": round(own, 1),
        "epoch_rows_a_second": round(4096 * steps / (time.perf_counter() - begun)),
        "epoch_rows_a_cpu_second": round(4096 * steps / (time.process_time() - busy)),
        "pass_peak_mb": round(after_pass),
        "peak_mb": round(peak_mb(resource.RUSAGE_SELF)),
    }


def peak_mb(whose: int) -> float:
    return resource.getrusage(whose).ru_maxrss / 1000


def search(folder: Path, rows: int) -> dict[str, Any]:
    """A search, and another that is killed after its first checkpoint and resumed to its end."""
    whole, stopped = (folder.with_name(f"{folder.name}-{name}") for name in ("whole", "stopped"))
    command = [sys.executable, "-m", "meritnas", "search"]
    begun, busy = time.perf_counter(), busy_seconds()
    run([*command, str(folder), *SEARCH, "--out", str(whole)])
    seconds, own = time.perf_counter() - begun, busy_seconds() - busy
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, str(folder), *SEARCH, "--out", str(stopped)], env=one_thread()
    )
    try:
        while not (stopped / "checkpoint.pt").exists():
            if process.poll() is not None:
                raise RuntimeError("the search ended before its first checkpoint")
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    killed = time.perf_counter() - begun
    run([*command, "--resume", str(stopped), "--quiet"])
    found = [json.loads((one / "result.json").read_text()) for one in (whole, stopped)]
    weights = [(one / "model.safetensors").read_bytes() for one in (whole, stopped)]
    same = weights[0] == weights[1] and all(
        found[0][name] == found[1][name] for name in ("architecture", "test")
    )
    for one in (whole, stopped):
        shutil.rmtree(one)
    return {
        "rows": rows,
        "search_seconds": round(seconds, 1),
        "search_cpu_seconds": round(own, 1),
        "killed_after": round(killed, 1),
        "both_parts_seconds": round(time.perf_counter() - begun, 1),
        "same_after_kill": same,
        "network": found[1]["short"],
        "roc_auc": round(found[1]["test"]["roc_auc"], 3),
        "peak_mb": round(peak_mb(resource.RUSAGE_CHILDREN)),
    }


def run(command: list[str]) -> None:
    subprocess.run(command, env=one_thread(), stdout=subprocess.DEVNULL, check=True)


def busy_seconds() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def alone(folder: Path, quick: bool) -> dict[str, Any]:
    """What is measured, in a process of its own; in this one where nothing is judged."""
    if quick:
        return measure(folder)
    words = [sys.executable, __file__, "--of", str(folder)]
    done = subprocess.run(words, stdout=subprocess.PIPE, env=one_thread(), check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def parsed() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=sizes, default=[1_000_000], help="of each table, at commas")
    parser.add_argument("--folder", type=Path, default=None, help="where tables are made")
    parser.add_argument("--search", action="store_true", help="also a search, killed and resumed")
    parser.add_argument("--makers", type=int, default=2, help="processes that make a table")
    parser.add_argument("--of", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    args = parsed()
    if args.of is not None:
        print(json.dumps(measure(args.of)))
        return 0
    passes: list[dict[str, Any]] = []
    searches: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=args.folder) as place:
        for count in [2_000] if args.quick else args.rows:
            folder = Path(place) / f"rows-{count}"
            begun = time.perf_counter()
            write(folder, count, 1 if args.quick else args.makers)
            made = round(time.perf_counter() - begun, 1)
            passes.append({**alone(folder, args.quick), "making_seconds": made})
            if args.search:
                searches.append(search(folder, count))
            shutil.rmtree(folder)
    rows = [*passes, *searches]
    show("A streamed table of Criteo's shape", passes)
    if searches:
        show("A search on it, undisturbed; and killed once and resumed", searches)
    most = max(row["peak_mb"] for row in rows)
    text = f"at most {MOST_MEMORY:,} MB, whatever the number of rows"
    met = None if args.quick else most <= MOST_MEMORY
    targets = [Target(text, f"{most:,} MB", met)]
    searched = [row["same_after_kill"] for row in searches]
    if searched:
        text = "a search that is killed and resumed ends with the bytes of an undisturbed one"
        targets.append(Target(text, f"{sum(searched)} of {len(searched)}", all(searched)))
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
