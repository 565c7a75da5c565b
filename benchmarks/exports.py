"""Do exported networks answer as `meritnas predict` does, on raw rows, hostile ones included?

    python benchmarks/exports.py adult.csv.gz:income fried.tsv.gz:target wine digits book.txt:text \
        views.npz:label --json exports.json

Each is data with the column or array to predict, as `DATA:TARGET`; bundled data need none, a text
is `FILE:text`. A small network is trained on it for a few epochs: what matters is whether answers
are the same. Then rows of the data are drawn again and made hostile: cells are emptied, categories
are ones that nobody has seen, whole numbers are written with `.0`, dates get a time with seconds,
columns stand in another order and there is one more.

- `predict.py`: the exported folder, in a Python that has neither MeritNAS nor pandas; the largest
  difference between its numbers and those of `meritnas predict`, of predicted numbers in their
  standard deviations where these are above 1, and whether the files are equal.
- `raw.onnx`: the same for the graph of raw columns, where there is one.
- `verify`: whether `meritnas verify` counts in every export what the family promises.

At last, but not with --quick, the first table is served (`meritnas serve`): requests of one row
each by several clients at once, on this machine.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

import meritnas
from meritnas import Retraining, RunOptions, Tabular
from meritnas.cli.main import main as command
from meritnas.data.bundled import BUNDLED, load_bundled
from meritnas.data.columns.as_numbers import as_numbers
from meritnas.data.files.table import read_table
from meritnas.exporting.verify import verify
from scoreboard import Target, arguments, finish, keep, show

GOAL = 1e-5
BLOCK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"meritnas", "pandas"}:
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Refuse())
"""
HEALTH = 60.0
_EMPTIED, _CHANGED = 0.05, 0.02
"""Of the cells."""

_FEW = 50
"""Different texts of a column of categories."""

Row = dict[str, Any]


def trained(given: str, out: Path, quick: bool) -> tuple[Path, str, str]:
    """A run with a small network; its data and what is predicted."""
    data, _, target = given.rpartition(":") if ":" in given else (given, "", "")
    short: dict[str, Any] = {
        "out": out,
        "run": RunOptions(threads=1),
        "epochs": 1,
        "retraining": Retraining(epochs=1 if quick else 3, seeds=1, plain=False, finalists=1),
    }
    if target == "text":
        short |= {"space": meritnas.Recurrent(width=16), "strategy": "random"}
    elif is_table(data):
        short |= {"space": Tabular(layers=2, widths=(8, 16))}
    elif data.endswith(".npz"):
        short |= {"space": meritnas.Fusion(cells=1, channels=8, length=4), "strategy": "random"}
    elif not target:
        short |= {"max_params": 5_000, "strategy": "random"}
    meritnas.search(data, target if target not in ("", "text") else None, **short)
    return out, data, target


def is_table(data: str) -> bool:
    endings = (".csv", ".tsv", ".parquet")
    return data in BUNDLED or data.removesuffix(".gz").endswith(endings)


def hostile(frame: pd.DataFrame, rows: int, seed: int = 0) -> pd.DataFrame:
    """Rows of a table as they come from elsewhere."""
    rng = np.random.default_rng(seed)
    drawn = frame.iloc[rng.integers(0, len(frame), rows)].reset_index(drop=True).astype(object)
    for name in drawn.columns:
        cells, text = drawn[name], frame[name].dtype.kind not in "biuf"
        chosen = rng.random(rows) < _CHANGED
        if text:
            day = cells[cells.notna()].astype(str).str.fullmatch(r"\d{4}-\d\d-\d\d").all()
            few = frame[name].nunique() <= _FEW  # others may be dates, or numbers with units
            other = cells.astype(str) + " 12:34:56" if day else "never seen" if few else cells
            cells = cells.mask(chosen, other)
        else:
            cells = cells.mask(chosen & cells.notna(), cells.map(lambda x: f"{float(x):.12g}.0" if
                float(x).is_integer() else f"{x!r}", na_action="ignore"))  # fmt: skip
        drawn[name] = cells.mask(rng.random(rows) < _EMPTIED, None)
    drawn['one more, "quoted"'] = "a, b"
    return drawn[rng.permutation(drawn.columns)]


def new_data(data: str, target: str, folder: Path, rows: int) -> Path | None:
    """A file of raw data to answer for; None for a text, which is gone on with."""
    rng = np.random.default_rng(1)
    if is_table(data):
        frame = load_bundled(data)[0] if data in BUNDLED else read_table(Path(data))
        own = target or load_bundled(data)[1]
        hostile(frame.drop(columns=own), rows).to_csv(folder / "new.csv", index=False)
        return folder / "new.csv"
    if target == "text":
        return None
    if data.endswith(".npz"):
        with np.load(data) as archive:
            arrays = {name: archive[name] for name in archive.files if name != target}
        first = max(map(len, arrays.values()))
        drawn = rng.integers(0, first, min(rows, first))
        new = {name: array[drawn] for name, array in arrays.items() if len(array) == first}
        for array in new.values():
            if array.dtype.kind == "f":
                array[rng.random(len(array)) < _EMPTIED] = np.nan
        np.savez(folder / "new.npz", **new)
        return folder / "new.npz"
    (folder / "pictures").mkdir()
    for place in range(rows):
        pixels = rng.integers(0, 256, (8 + place % 30, 8 + place % 17, 3), dtype=np.uint8)
        Image.fromarray(pixels[..., 0] if place % 3 else pixels).save(
            folder / "pictures" / f"{place}.png"
        )
    return folder / "pictures"


def say(*words: object) -> None:
    """A command in this process."""
    try:
        with redirect_stdout(io.StringIO()):
            command([str(word) for word in words])
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(
                f"meritnas {' '.join(map(str, words))} ended with {ended.code}"
            ) from None


def difference(own: Path, other: Path) -> float:
    """The largest difference between numbers of two tables; infinite where words differ."""
    left, right = pd.read_csv(own), pd.read_csv(other)
    if list(left) != list(right) or len(left) != len(right):
        return float("inf")
    worst = 0.0
    for name in left:
        if left[name].dtype.kind == "f":
            scale = max(1.0, float(left[name].std()))
            worst = max(worst, float((left[name] - right[name]).abs().max()) / scale)
        elif not left[name].equals(right[name]):
            worst = float("inf")
    return worst


def from_folder(run: Path, file: Path | None, folder: Path) -> Iterator[Row]:
    """What `predict.py` says beside what `meritnas predict` says."""
    say("export", run, "--to", "python", "--out", folder / "network")
    asked = [file] if file else ["--prompt", "It was", "--words", "200", "--seed", "1"]
    say("predict", run, *asked, "--out", folder / "own", "--quiet")
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(BLOCK)
    program = folder / "network" / "predict.py"
    subprocess.run(
        [sys.executable, str(program), *map(str, asked), "--out", str(folder / "other")],
        check=True,
        env={**os.environ, "PYTHONPATH": str(folder / "block"), "OMP_NUM_THREADS": "1"},
    )
    equal = (folder / "own").read_bytes() == (folder / "other").read_bytes()
    worst = 0.0 if equal else difference(folder / "own", folder / "other") if file else float("inf")
    yield {"form": "predict.py", "difference": worst, "equal files": equal}


def from_graph(run: Path, file: Path | None, folder: Path) -> Iterator[Row]:
    """What `raw.onnx` says of the same rows, where there is one."""
    import onnxruntime

    say("export", run, "--to", "onnx", "--out", folder / "graph")
    raw = folder / "graph" / "raw.onnx"
    if file is None or not raw.exists():
        return
    session = onnxruntime.InferenceSession(raw, providers=["CPUExecutionProvider"])
    frame = read_table(file)
    given = {}
    for one in session.get_inputs():
        cells = frame[one.name]
        if "string" in one.type:
            texts = cells.map(lambda cell: str(cell).strip(), na_action="ignore").fillna("")
            given[one.name] = texts.to_numpy(object)
        else:
            numbers, strange = as_numbers(cells)
            if numbers is None:
                raise RuntimeError(f"{one.name} holds {strange!r}")
            given[one.name] = numbers
    found = session.run(None, given)[1]
    known = pd.read_csv(folder / "own").select_dtypes("float").to_numpy()
    scale = max(1.0, float(known.std()))
    worst = float(np.abs(np.asarray(found).reshape(known.shape) - known).max()) / scale
    yield {"form": "raw.onnx", "difference": worst, "equal files": ""}


def verified(run: Path, folder: Path) -> Iterator[Row]:
    """Whether every export has the parameters that the run has."""
    files = [folder / "graph" / "model.onnx", folder / "network"]
    known = params_of(run)
    for path in files:
        counted = params_of(path)
        folded = path.suffix == ".onnx" and counted <= known  # norms are part of what follows
        kept = verify(path).kept and (counted == known or folded)
        yield {"form": f"verify {path.name}", "kept": kept}


def params_of(path: Path) -> int:
    return next(check.found or 0 for check in verify(path).checks if check.cost == "params")


def measured(given: str, args: Namespace, folder: Path) -> list[Row]:
    """All forms of one network."""
    run, data, target = trained(given, folder / "run", args.quick)
    file = new_data(data, target, folder, args.rows)
    rows = [
        *from_folder(run, file, folder),
        *from_graph(run, file, folder),
        *verified(run, folder),
    ]
    return [{"data": Path(data).name, "rows": args.rows if file else 0, **row} for row in rows]


@contextmanager
def service(run: Path) -> Iterator[Callable[[str, str, bytes], tuple[int, bytes]]]:
    """`meritnas serve` on a free port of this machine, and how to ask it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "meritnas", "serve", str(run), "--port", str(port)]
    )

    def ask(method: str, path: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HEALTH)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    try:
        begun = time.monotonic()
        while True:
            try:
                ask("GET", "/health", b"")
                break
            except OSError:
                if time.monotonic() - begun > HEALTH:
                    raise
                time.sleep(0.1)
        yield ask
    finally:
        process.terminate()
        process.wait(20)


def served(given: str, args: Namespace, folder: Path) -> Row:
    """Requests by several clients at once: errors, answers that differ, times."""
    run, data, target = trained(given, folder / "run", args.quick)
    frame = load_bundled(data)[0] if data in BUNDLED else read_table(Path(data))
    own = target or load_bundled(data)[1]
    drawn = frame.drop(columns=own).iloc[: args.requests]
    known = meritnas.load_predictor(run).table(drawn)
    scale = max(1.0, float(known.select_dtypes("float").to_numpy().std()))
    bodies = [json.dumps([row]) for row in json.loads(drawn.to_json(orient="records"))]

    def one(number: int) -> tuple[float, bool]:
        place = number % len(bodies)
        begun = time.perf_counter()
        status, body = ask("POST", "/predict", bodies[place].encode())
        took = time.perf_counter() - begun
        expected = known.iloc[place].to_list()
        found = list(json.loads(body)["predictions"][0].values()) if status == 200 else []
        same = len(found) == len(expected) and all(
            a == b or (isinstance(a, float) and abs(a - b) < GOAL * scale)
            for a, b in zip(found, expected, strict=True)
        )
        return took, same

    with service(run) as ask, ThreadPoolExecutor(args.clients) as clients:
        found = list(clients.map(one, range(args.requests)))
    times = np.array([took for took, _ in found]) * 1e3
    return {
        "data": Path(data).name,
        "form": f"serve, {args.clients} clients",
        "rows": args.requests,
        "difference": 0.0 if all(same for _, same in found) else float("inf"),
        "p50 ms": float(np.quantile(times, 0.5)),
        "p99 ms": float(np.quantile(times, 0.99)),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="+", help="DATA:TARGET, FILE:text, or a bundled name")
    parser.add_argument("--rows", type=int, default=1000, help="raw rows to answer for")
    parser.add_argument("--requests", type=int, default=1000, help="of the service")
    parser.add_argument("--clients", type=int, default=16)
    args = parser.parse_args()
    if args.quick:
        args.rows = 40
    rows: list[Row] = []
    for given in args.data:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(given, args, Path(folder))
            keep(rows, args)
    tables = [given for given in args.data if is_table(given.rpartition(":")[0] or given)]
    if tables and not args.quick:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(served(tables[0], args, Path(folder)))
    show("exported networks beside meritnas predict", rows)
    worst = max(row["difference"] for row in rows if "difference" in row)
    kept = all(row["kept"] for row in rows if "kept" in row)
    targets = [
        Target(f"answers differ by at most {GOAL:g}", f"{worst:.2g}", worst <= GOAL),
        Target("verify counts what the run has in every export", str(kept), kept),
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
