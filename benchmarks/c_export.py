"""What a network of about 4,000 parameters takes as C, how fast it is, and what int8 costs it.

    python benchmarks/c_export.py adult.csv:income connect_4.tsv:target mnist5k --json c.json

Each is a table with the column to predict, as `FILE:TARGET`, or bundled data. Of a table a network
of two equal layers, as wide as fits, is trained, of images one of three stages; then it is exported
as C and as ONNX, both in float32 and in int8.

- `flash`: bytes of constants, and of code as the machine's cc makes it with -Os; `arena`: bytes.
- `us`: microseconds for one row, raw inputs to answers, one thread, all in one go on this machine:
  C compiled with -O2, onnxruntime and torch.
- `accuracy`: on the test rows.

With `--layouts N` so many random networks of each family are laid out, too, and counted where the
arena is larger than the most that is alive at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

import meritnas
from meritnas import (
    Convnet,
    Darts,
    DartsUnique,
    Nasbench201,
    Residual,
    Retraining,
    RunOptions,
    Tabular,
)
from meritnas.data.bundled import BUNDLED
from meritnas.data.columns.inputs import TableInputs
from meritnas.exporting.c.arena import planned
from meritnas.exporting.c.compiling import compiler
from meritnas.exporting.c.lowering import lowered
from meritnas.exporting.export import export
from meritnas.exporting.graph import Graph, make_graph
from meritnas.exporting.trained import Trained, load_trained
from scoreboard import Target, arguments, finish, keep, show

PARAMS = 4_000
WIDTHS = tuple(range(4, 129, 4))
STAGES = Convnet(blocks="plain3", widths=((8,), (16,), (16,)))
NETWORK = "{size} plain3(8x1) plain3(16x1) plain3(16x1)"
IMAGES = {"digits": "8x8", "mnist5k": "28x28"}
ROUNDS = 201
LOST = 0.01

HARNESS = """
#include <stdio.h>
#include <time.h>
#include "model.h"

int main(void)
{{
    static {inputs};
    static float scores[MODEL_SCORES];
    static {answer};
    long n, calls = 50;
    double best = 1e9, spent = 0.0;
    int round;
    for (round = 0; round < 40; ++round) {{
        const clock_t begun = clock();
        for (n = 0; n < calls; ++n)
            model_run({given}, scores, {answers});
        spent = (double)(clock() - begun) / CLOCKS_PER_SEC;
        if (spent < 0.005)
            calls *= 2;
        else if (spent / (double)calls < best)
            best = spent / (double)calls;
    }}
    printf("%.4f\\n", 1e6 * best);
    return 0;
}}
"""
"""The fastest of rounds of at least 5 ms."""


def trained(given: str, folder: Path, epochs: int) -> tuple[Path, str]:
    """A run with a network of about so many parameters, and the name of its data."""
    data, _, target = given.rpartition(":") if ":" in given else (given, "", "")
    asked: dict[str, Any] = {
        "run": RunOptions(threads=1),
        "epochs": epochs,
        "seeds": 1,
        "retraining": Retraining(plain=False),
    }
    if not target and data in IMAGES:
        size = IMAGES[data]
        out = folder / "run"
        meritnas.train(data, architecture=NETWORK.format(size=size), space=STAGES, out=out, **asked)
        return out, data
    first = {**asked, "epochs": 1, "out": folder / "first"}
    meritnas.train(data, target or None, architecture="4-4", space=tables(4), **first)
    own = load_trained(folder / "first")
    width = widest(own)
    meritnas.train(
        *(data, target or None),
        architecture=f"{width}-{width}",
        space=tables(width),
        out=folder / "run",
        **asked,
    )
    return folder / "run", data if data in BUNDLED else Path(data).name


def tables(width: int) -> Tabular:
    return Tabular(layers=2, widths=(width,))


def widest(first: Trained) -> int:
    """The width of two equal layers that fit."""
    family: Any = first.family
    counted = {
        width: tables(width).build(family.inputs, family.outputs, {}).cost(f"{width}-{width}")
        for width in WIDTHS
    }
    return max(width for width, params in counted.items() if params <= PARAMS or width == 4)


def in_c(folder: Path) -> float:
    """Microseconds a row."""
    header = (folder / "model.h").read_text()
    images, regression = "MODEL_HEIGHT" in header, "*predicted" in header
    sizes = {"numbers": "double", "codes": "int32_t"}
    given = [name for name in sizes if f"{name}[MODEL" in header]
    inputs = [f"{sizes[name]} {name}[MODEL_{name.upper()}]" for name in given]
    if images:
        given = ["pixels"]
        inputs = ["uint8_t pixels[MODEL_HEIGHT * MODEL_WIDTH * MODEL_CHANNELS]"]
    answer = "double predicted" if regression else "float probabilities[MODEL_CLASSES]"
    source = HARNESS.format(
        inputs=";\n    static ".join(inputs),
        given=", ".join(given),
        answer=answer,
        answers="&predicted" if regression else "probabilities",
    )
    (folder / "main.c").write_text(source)
    command = [*(compiler() or []), "-std=c99", "-O2", "main.c", "model.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    told = subprocess.run([folder / "main"], check=True, capture_output=True, text=True)
    return float(told.stdout)


def median(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begun = perf_counter()
        call()
        times.append(perf_counter() - begun)
    return 1e6 * float(np.median(times))


def elsewhere(graph: Graph, folder: Path, rounds: int) -> Iterator[tuple[str, float]]:
    """Microseconds a row of onnxruntime and torch."""
    import onnxruntime

    given = graph.sample(1, 0)
    named = {name: one.numpy() for name, one in zip(graph.inputs, given, strict=True)}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for label, file in (("onnxruntime", "model.onnx"), ("onnxruntime int8", "model-int8.onnx")):
        session = onnxruntime.InferenceSession(str(folder / file), options)
        session.run(None, named)
        yield f"us {label}", median(partial(session.run, None, named), rounds)
    with torch.no_grad():
        graph.own(*given)
        yield "us torch", median(lambda: graph.own(*given), rounds)


def measured(given: str, args: Namespace, folder: Path) -> list[dict[str, Any]]:
    run, name = trained(given, folder, 1 if args.quick else args.epochs)
    known = load_trained(run)
    graph = make_graph(known)
    rounds = 11 if args.quick else ROUNDS
    params = known.family.cost(known.architecture)
    rows = []
    costs = {}
    for numbers in ("float32", "int8"):
        out = folder / numbers
        export(run, "c", out, quantize=None if numbers == "float32" else "int8")
        costs[numbers] = json.loads((out / "c.json").read_text())
        told = costs[numbers]
        rows.append(
            {
                "data": name,
                "form": f"C {numbers}",
                "params": params,
                "constants": told["constant_bytes"],
                "of these encoder": told["encoder_bytes"],
                "code": told["code_bytes"],
                "arena": told["arena_bytes"],
                "counted peak": told["counted_peak_bytes"],
                "us": in_c(out),
            }
        )
    export(run, "onnx", folder / "onnx", quantize="int8")
    scores = {f"C {numbers}": each for numbers, each in costs["int8"]["scores"].items()}
    whole = json.loads((folder / "onnx" / "int8.json").read_text())["scores"]
    scores |= {"onnxruntime": whole["float32"], "onnxruntime int8": whole["int8"]}
    for label, spent in elsewhere(graph, folder / "onnx", rounds):
        rows.append({"data": name, "form": label.removeprefix("us "), "us": spent})
    fastest = rows[0]["us"]
    for row in rows:
        row["times C float32"] = row["us"] / fastest
        if row["form"] in scores:
            found = scores[row["form"]]
            row |= {"accuracy": found["accuracy"], "log loss": found["log_loss"]}
    return rows


def laid_out(count: int) -> list[dict[str, Any]]:
    """Of each family how many random networks have an arena larger than the counted peak."""
    columns = TableInputs(5, (3, 9, 2))
    families: dict[str, tuple[Any, tuple[int, ...]]] = {
        "tabular": (Tabular(layers=4, widths=(2, 5, 8, 13, 32)).build(columns, 3, {}), (8,)),
        "residual": (Residual(blocks=3, widths=(4, 8, 24)).build(columns, 3, {}), (8,)),
        "convnet": (Convnet().build((3, 17, 14), 4, {}), (3, 17, 14)),
        "nasbench201": (Nasbench201(channels=4, cells=2).build((3, 9, 11), 4, {}), (3, 9, 11)),
        "darts": (Darts(channels=4, cells=6).build((3, 13, 10), 4, {}), (3, 13, 10)),
        "darts-unique": (DartsUnique(channels=4, cells=8).build((3, 8, 9), 4, {}), (3, 8, 9)),
    }
    rows = []
    for name, (family, shape) in families.items():
        rng, larger = np.random.default_rng(0), 0
        for _ in range(count):
            chosen = family.space.random(rng)
            network = family.child(chosen).eval().requires_grad_(False)
            size = 4 * planned(lowered(network, torch.zeros(1, *shape)).buffers)[1]
            larger += size != family.cost(chosen, "peak")
        rows.append({"family": name, "networks": count, "with gaps": larger})
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="*", help="FILE:TARGET, or a bundled name")
    parser.add_argument("--layouts", type=int, default=0, help="random networks of each family")
    parser.add_argument("--epochs", type=int, default=15, help="of each training")
    args = parser.parse_args()
    if compiler() is None:
        print("there is no C compiler; set CC to one, or put cc on the path")
        return 0 if args.quick else 2
    rows: list[dict[str, Any]] = []
    for given in args.data:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(given, args, Path(folder))
            keep(rows, args)
    if args.layouts:
        layouts = laid_out(1 if args.quick else args.layouts)
        show("arenas larger than the counted peak", layouts)
    if not rows:
        return 0
    show("networks of about 4,000 parameters as C", rows)
    real = [row for row in rows if row["form"] == "C float32"]
    whole = [row for row in rows if row["form"] == "C int8"]
    lost = max(a["accuracy"] - b["accuracy"] for a, b in zip(real, whole, strict=True))
    tables = [row for row in rows if row["data"] not in IMAGES]
    others = [row["times C float32"] for row in tables if row["form"] in ("onnxruntime", "torch")]
    equal = all(row["arena"] == row["counted peak"] for row in real)
    targets = [
        Target("the arena in float32 is the counted peak", str(equal), equal),
        Target(f"int8 in C loses at most {LOST:g} of accuracy", f"{lost:.4f}", lost <= LOST),
        Target(
            "of tables onnxruntime and torch take longer",
            f"{min(others):.2f} times" if others else "no table",
            min(others) > 1 if others else None,
        ),
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
