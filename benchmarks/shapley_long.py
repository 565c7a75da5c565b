"""Shapley-NAS in its own setting: does a long search beat DARTS, and cure the skips of S2 and S3?

    python benchmarks/shapley_long.py --images cifar10.npz --table nb201.csv.gz --out runs \
        --json rows.json

The mixture game on a supernet that has trained as a mixture for the paper's 15 of 50 epochs first,
with its M, eta, momentum and step; `darts` beside it has the same epochs. NAS-Bench-201's cell is
scored by its table after every epoch of a search (`leaders`) and at its end; of S2 and S3 the skip
connections in the normal cell are counted. Nothing is trained after a search.

Every search is a run in the folder `--out`: started again, the script resumes what was interrupted
and leaves what is done. Searches are one after the other in each of `--jobs` processes of a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import meritnas
from meritnas import nasbench201_table
from meritnas.data.images.source import load_images
from meritnas.families.catalogue import space_spec
from meritnas.settings.request import RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.catalogue import strategy_spec
from nasbench201 import workers
from scoreboard import Target, arguments, finish, keep, show

PAPER: dict[str, Any] = {"game": "mixture", "permutations": 10, "antithetic": False}
STRATEGIES: dict[str, dict[str, Any]] = {"darts": {}, "shapley": PAPER}
NASBENCH201 = "nasbench201"
WARMUP = 0.3
"""15 of 50 epochs."""

LONG = ("architecture", "leaders", "on the way")
"""What a line on the screen leaves out."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What all searches have in common."""

    images: Path
    side: int
    rows: int
    epochs: int
    channels: int
    batch: int
    out: Path


@dataclass(frozen=True)
class Case:
    """One search."""

    space: str
    strategy: str
    seed: int

    @property
    def folder(self) -> str:
        return f"{self.space}-{self.strategy}-{self.seed}"


def searched(setting: Setting, case: Case) -> Row:
    """A search from where it was to its end, and what it preferred on its way."""
    data = pictures(setting)
    out = setting.out / case.folder
    found = meritnas.resume(out, data) if out.exists() else begun(setting, case, data, out)
    own = [event for event in found.history if event["kind"] == "search"]
    return {
        "space": case.space,
        "strategy": case.strategy,
        "seed": case.seed,
        "epochs": setting.epochs,
        "architecture": str(found.architecture),
        "leaders": [event["leader"] for event in own],
        "minutes": round(found.summary["seconds"] / 60, 1),
    }


def pictures(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """The same ones for every search, and their classes."""
    source = load_images(str(setting.images), setting.side)
    some = np.random.default_rng(0).permutation(len(source.labels))[: setting.rows]
    return source.images[some], source.labels.to_numpy()[some]


def begun(setting: Setting, case: Case, data: Any, out: Path) -> meritnas.SearchResult:
    """A new search; the strategy itself chooses, and a short training ends the run."""
    cells = 1 if case.space == NASBENCH201 else 3
    sizes = {"supernet_channels": setting.channels, "supernet_cells": cells}
    return meritnas.search(
        data,
        space=space_spec(case.space, {**sizes, "channels": 4, "cells": cells}),
        strategy=strategy_spec(case.strategy, STRATEGIES[case.strategy]),
        epochs=setting.epochs,
        training=Training(warmup=WARMUP, batch_size=setting.batch),
        retraining=Retraining(epochs=1, finalists=1, candidates=1, plain=False),
        seed=case.seed,
        out=out,
        run=RunOptions(threads=1),
    )


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--out", type=Path, required=True, help="the folder for runs")
    parser.add_argument("--spaces", default=f"{NASBENCH201},darts-s2,darts-s3")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--epochs", type=int, default=50, help="as in the paper")
    parser.add_argument("--rows", type=int, default=10_000, help="images, all parts together")
    parser.add_argument("--side", type=int, default=16, help="pixels of an image")
    parser.add_argument("--channels", type=int, default=16, help="of the supernet's first cells")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    quick = {"side": 8, "rows": 200, "epochs": 2, "channels": 4, "batch": 16}
    sizes = quick if args.quick else {name: getattr(args, name) for name in quick}
    setting = Setting(args.images, out=args.out, **sizes)
    args.out.mkdir(parents=True, exist_ok=True)
    seeds = [int(seed) for seed in args.seeds.split(",")][: 1 if args.quick else None]
    cases = [
        Case(space, strategy, seed)
        for space in args.spaces.split(",")
        for seed in seeds
        for strategy in STRATEGIES
    ]
    table = nasbench201_table(args.table)
    rows: list[Row] = []
    with workers(args.jobs, quick=args.quick) as pool:
        for job in [pool.submit(searched, setting, case) for case in cases]:
            rows.append(scored(job.result(), table))
            keep(rows, args)
            shown = {name: value for name, value in rows[-1].items() if name not in LONG}
            print(" ".join(str(value) for value in shown.values()), flush=True)
    show("Shapley-NAS and DARTS after long searches", summary(rows))
    return finish(rows, list(_targets(rows)), args)


def scored(row: Row, table: Any) -> Row:
    """With the accuracy by the table, or the skip connections of the normal cell."""
    if row["space"] != NASBENCH201:
        normal = row["architecture"].partition("normal_concat")[0]
        return {**row, "skips": normal.count("skip_connect")}
    known = {text: table.accuracy(text, "cifar10", "test") for text in set(row["leaders"])}
    return {
        **row,
        "test_accuracy": table.accuracy(row["architecture"], "cifar10", "test"),
        "on the way": [round(known[text], 2) for text in row["leaders"]],
    }


def summary(rows: list[Row]) -> list[Row]:
    found = []
    for space, strategy in dict.fromkeys((row["space"], row["strategy"]) for row in rows):
        own = [row for row in rows if (row["space"], row["strategy"]) == (space, strategy)]
        name = "test_accuracy" if space == NASBENCH201 else "skips"
        found.append(
            {
                "space": space,
                "strategy": strategy,
                "scored by": name,
                "mean": round(mean(row[name] for row in own), 2),
                "of each seed": ", ".join(f"{row[name]:.4g}" for row in own),
                "minutes": round(mean(row["minutes"] for row in own), 1),
            }
        )
    return found


def _targets(rows: list[Row]) -> Iterator[Target]:
    for space in dict.fromkeys(row["space"] for row in rows):
        name, sign = ("test_accuracy", 1) if space == NASBENCH201 else ("skips", -1)
        own = [row for row in rows if row["space"] == space]
        of = {s: mean(row[name] for row in own if row["strategy"] == s) for s in STRATEGIES}
        yield Target(
            f"{space}: Shapley-NAS has {'more accuracy' if sign > 0 else 'fewer skips'} than DARTS",
            f"{of['shapley']:.2f} against {of['darts']:.2f}",
            sign * of["shapley"] > sign * of["darts"],
        )


if __name__ == "__main__":
    raise SystemExit(main())
