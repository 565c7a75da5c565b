"""Networks whose cells all differ: MANAS against random architectures and against DARTS.

    python benchmarks/manas_images.py mnist5k cifar10.npz --json rows.json

On each data set: `manas` and `manas-ls` search 8 and 14 cells that all have their own operations
(space `darts-unique`); random architectures of that space get no search; `darts` searches two
cells that are stacked 8 times, and 14 times for the second comparison. What was found, or
drawn, is trained from scratch the same way. MANAS' paper compares so on Sport-8, Caltech-101 and
MIT-67 (its figure 2). How often a random architecture is as good as one found is counted
over all pairs of the same data and number of cells.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

import meritnas
from meritnas import darts_space
from meritnas.data.images.source import load_images
from meritnas.families.darts.spec import Darts, DartsUnique
from meritnas.settings.request import RunOptions
from meritnas.settings.training import Retraining
from nasbench201 import workers
from scoreboard import Target, arguments, finish, keep, show

FOUND = ("manas", "manas-ls")
METHODS = (*FOUND, "darts")


@dataclass(frozen=True)
class Sizes:
    """Of all searches and trainings."""

    rows: int
    side: int
    channels: int
    epochs: int
    darts_epochs: int
    retrain_epochs: int


@dataclass(frozen=True)
class Trial:
    """One architecture, searched for or drawn, and trained."""

    data: str
    method: str
    cells: int
    seed: int


def pictures(name: str, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """As many images as are wanted, the same ones for every trial, and their classes."""
    source = load_images(name, sizes.side)
    rows = np.random.default_rng(0).permutation(len(source.labels))[: sizes.rows]
    return source.images[rows], source.labels.to_numpy()[rows]


def run_trial(trial: Trial, sizes: Sizes) -> dict[str, Any]:
    begun = time.perf_counter()
    data = pictures(trial.data, sizes)
    darts = trial.method == "darts"
    space = (Darts if darts else DartsUnique)(
        channels=sizes.channels,
        cells=trial.cells,
        supernet_channels=sizes.channels,
        supernet_cells=min(8, trial.cells) if darts else trial.cells,
    )
    common: dict[str, Any] = {
        "space": space,
        "seed": trial.seed,
        "run": RunOptions(threads=1),
    }
    with tempfile.TemporaryDirectory() as folder:
        common["out"] = Path(folder) / "run"
        if trial.method == "random":
            unique = darts_space(10, sizes.channels, trial.cells, "unique")
            drawn = str(unique.random(trial.seed))
            found = meritnas.train(
                data, architecture=drawn, epochs=sizes.retrain_epochs, seeds=1, **common
            )
        else:
            found = meritnas.search(
                data,
                strategy=trial.method,
                epochs=sizes.darts_epochs if darts else sizes.epochs,
                retraining=Retraining(
                    epochs=sizes.retrain_epochs, seeds=1, finalists=1, plain=False
                ),
                **common,
            )
    return {
        "data": Path(trial.data).stem,
        "method": trial.method,
        "cells": trial.cells,
        "seed": trial.seed,
        "accuracy": round(float(found.test["accuracy"]), 4),
        "params": found.summary["params"],
        "minutes": round((time.perf_counter() - begun) / 60, 2),
        "architecture": str(found.architecture),
    }


def trials(
    data: list[str], methods: tuple[str, ...], cells: list[int], seeds: int, drawn: int
) -> Iterator[Trial]:
    for name in data:
        for number in cells:
            for method in methods:
                for seed in range(seeds):
                    yield Trial(name, method, number, seed)
            for seed in range(drawn):
                yield Trial(name, "random", number, seed)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for data, cells, method in dict.fromkeys((r["data"], r["cells"], r["method"]) for r in rows):
        own = [r for r in rows if (r["data"], r["cells"], r["method"]) == (data, cells, method)]
        scores = [row["accuracy"] for row in own]
        others = drawn_scores(rows, data, cells)
        as_good = [other >= score for score in scores for other in others]
        found.append(
            {
                "data": data,
                "cells": cells,
                "method": method,
                "accuracy": round(mean(scores), 4),
                "spread": round(stdev(scores), 4) if len(scores) > 1 else 0.0,
                "random as good": f"{mean(as_good):.0%}" if as_good and method != "random" else "",
                "params": round(mean(row["params"] for row in own)),
                "minutes": round(mean(row["minutes"] for row in own), 1),
            }
        )
    return found


def drawn_scores(rows: list[dict[str, Any]], data: str, cells: int) -> list[float]:
    return [
        row["accuracy"]
        for row in rows
        if (row["data"], row["cells"], row["method"]) == (data, cells, "random")
    ]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="+", help="bundled images or a file")
    parser.add_argument("--methods", default=",".join(METHODS), help="which of them search")
    parser.add_argument("--cells", default="8,14")
    parser.add_argument("--seeds", type=int, default=2, help="searches of each kind")
    parser.add_argument("--drawn", type=int, default=4, help="random architectures of each kind")
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--size", type=int, default=16, help="pixels each way")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=12, help="of a search by one path")
    parser.add_argument("--darts-epochs", type=int, default=3, help="each takes ten times as long")
    parser.add_argument("--retrain-epochs", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cells = [int(number) for number in args.cells.split(",")]
    sizes = Sizes(
        args.rows, args.size, args.channels, args.epochs, args.darts_epochs, args.retrain_epochs
    )
    methods = tuple(args.methods.split(","))
    if unknown := set(methods) - set(METHODS):
        parser.error(f"--methods are among {', '.join(METHODS)}, got {', '.join(sorted(unknown))}")
    if args.quick:
        sizes, cells, methods = Sizes(120, 8, 4, 1, 1, 1), [2], FOUND[:1]
        args.seeds, args.drawn = 1, 1
    with workers(args.jobs, quick=args.quick) as pool:
        jobs = [
            pool.submit(run_trial, trial, sizes)
            for trial in trials(args.data, methods, cells, args.seeds, args.drawn)
        ]
        rows = []
        for job in jobs:
            rows.append(job.result())
            print(
                {key: rows[-1][key] for key in ("data", "method", "cells", "accuracy")}, flush=True
            )
            keep(rows, args)  # so that an interruption loses little
    show("accuracy on images that nothing else has seen", summary(rows))
    return finish(rows, targets(rows), args)


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """The paper's claim: search beats random architectures."""
    found = []
    for method in FOUND:
        better = [
            row["accuracy"] > other
            for row in rows
            if row["method"] == method
            for other in drawn_scores(rows, row["data"], row["cells"])
        ]
        if better:
            found.append(
                Target(
                    f"{method}: better than a random architecture in two thirds of the pairs",
                    f"{sum(better)} of {len(better)}",
                    3 * sum(better) >= 2 * len(better),
                )
            )
    return found


if __name__ == "__main__":
    raise SystemExit(main())
