"""What do networks lose in whole numbers of 8 bits, and how large are their files?

    python benchmarks/int8.py adult.csv.gz:income connect_4.tsv.gz:target mnist5k --json int8.json

Each is data with the column to predict, as `DATA:TARGET`; bundled data need none. A network of
three layers of 64, or of two stages of residual blocks on images of 28x28, is trained on it for a
few passes, written as ONNX and as Python, and both in int8 (`--quantize int8`), which says the
scores on the test rows before and after:

- `onnx`: weights and activations in int8, by the ranges that activations have on training rows.
- `python`: weights in int8 alone, which the program turns into float32 when it loads them.

Sizes are of `model.onnx`, `model-int8.onnx`, `weights.safetensors` and `weights-int8.safetensors`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import meritnas
from meritnas import RunOptions
from meritnas.data.kinds import recognise
from scoreboard import Row, arguments, finish, show

LAYERS = "64-64-64"
STAGES = "28x28 residual3(16x1) residual3(32x1)"


def trained(given: str, out: Path, epochs: int) -> Path:
    """A run with a network of a fixed shape."""
    data, _, target = given.rpartition(":") if ":" in given else (given, "", "")
    options: dict[str, Any] = {"architecture": LAYERS}
    if recognise(data, None).name == "images":
        options = {"architecture": STAGES, "space": "convnet"}
    short = RunOptions(threads=1)
    meritnas.train(data, target or None, epochs=epochs, seeds=1, out=out, run=short, **options)
    return out


def measured(given: str, epochs: int) -> Row:
    """Scores on the test rows, and the sizes of files."""
    with tempfile.TemporaryDirectory() as folder:
        run = trained(given, Path(folder) / "run", epochs)
        onnx = written(run, "onnx", Path(folder) / "onnx")
        python = written(run, "python", Path(folder) / "python")
        meritnas.export(run, to="python", out=Path(folder) / "plain")
        plain = (Path(folder) / "plain" / "weights.safetensors").stat().st_size
        params = json.loads((run / "result.json").read_text())["params"]
    own, small = json.loads(onnx["int8.json"]), json.loads(python["weights-int8.json"])
    metric = next(iter(own["scores"]["float32"]))
    return {
        "data": Path(given.rpartition(":")[0] or given).name,
        "params": params,
        "test rows": own["test_rows"],
        "metric": metric,
        "float32": own["scores"]["float32"][metric],
        "onnx int8": own["scores"]["int8"][metric],
        "python int8": small["scores"]["int8"][metric],
        "log loss": own["scores"]["float32"].get("log_loss"),
        "onnx int8 log loss": own["scores"]["int8"].get("log_loss"),
        "python int8 log loss": small["scores"]["int8"].get("log_loss"),
        "model.onnx kB": len(onnx["model.onnx"]) / 1000,
        "model-int8.onnx kB": len(onnx["model-int8.onnx"]) / 1000,
        "weights kB": plain / 1000,
        "weights-int8 kB": len(python["weights-int8.safetensors"]) / 1000,
    }


def written(run: Path, form: str, folder: Path) -> dict[str, bytes]:
    """The files of an export in int8, by name."""
    paths = meritnas.export(run, to=form, out=folder, quantize="int8")
    return {path.name: path.read_bytes() for path in paths}


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="+", help="DATA:TARGET, or bundled data")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the training rows")
    args = parser.parse_args()
    rows = [measured(given, 1 if args.quick else args.epochs) for given in args.data]
    for title, chosen in (("scores in int8", False), ("sizes of files", True)):
        kept = [
            {k: v for k, v in row.items() if k == "data" or (" kB" in k) == chosen} for row in rows
        ]
        show(title, kept)
    return finish(rows, [], args)


if __name__ == "__main__":
    sys.exit(main())
