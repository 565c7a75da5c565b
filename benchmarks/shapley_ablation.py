"""Shapley-NAS taken apart: its settings on NAS-Bench-201, and DARTS' collapse on S1 to S4.

    python benchmarks/shapley_ablation.py --images cifar10.npz --table nb201.csv.gz --json rows.json

Settings (the paper's table 5 and figure 4): one supernet for each seed is warmed up on uniform
paths of NAS-Bench-201's cell; from there each setting goes on for the same number of rounds, an
epoch each. What it found is looked up in the table.

Collapse (the paper's table 4): on the spaces S1 to S4 with pictures of a bundled data set, `darts`
against `darts-shapley`, `darts-shapley-frozen` and `shapley`, each trained after its search: how
many of the eight edges of the normal cell are skip connections, and the accuracy.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import meritnas
from meritnas import nasbench201_table
from meritnas.engine.plan import Plan
from meritnas.families.catalogue import space_spec
from meritnas.settings.request import RunOptions
from meritnas.settings.spec import SpaceSpec
from meritnas.settings.training import Retraining
from nasbench201 import Setting, Trial, bundle_of, continued, make_search, warm_up, workers
from scoreboard import Target, arguments, finish, show

PAPER: dict[str, Any] = {"permutations": 10, "truncation": 0.5, "momentum": 0.8, "step": 0.1}
VARIED: dict[str, tuple[Any, ...]] = {
    "permutations": (2, 4),
    "truncation": (0.0, 0.8),
    "momentum": (0.0, 0.95),
    "step": (0.01, 1.0),
}
METHODS = ("darts", "darts-shapley", "darts-shapley-frozen", "shapley")
SPACES = ("darts-s1", "darts-s2", "darts-s3", "darts-s4")


@dataclass(frozen=True)
class Lengths:
    """Epochs of a search, and of what it found."""

    search: int
    retrain: int


def variants() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "paper", PAPER
    for name, values in VARIED.items():
        for value in values:
            yield f"{name} {value}", {**PAPER, name: value}
    yield "regression", {"estimator": "regression"}
    yield "released code", {"variant": "released", "judged_rows": 256}


def run_variant(
    setting: Setting, name: str, options: dict[str, Any], seed: int, rounds: int, file: Path
) -> dict[str, Any]:
    torch.set_num_threads(1)
    begun = time.perf_counter()
    trial, bundle = Trial("shapley", False, seed), bundle_of(setting, seed)
    some = make_search(setting, trial, bundle, Plan(0, 1, 1), options)
    turns, epoch = some.strategy.turns.each_epoch or 1, some.probe.epoch_steps
    steps = rounds * epoch
    plan = Plan(steps, steps, rounds * turns, rounds)  # the second half of the cosine
    search = continued(make_search(setting, trial, bundle, plan, options), file, zero=False)
    evaluations: list[float] = []
    for clock in plan.clocks(steps):
        if clock.phase == "frozen":
            learnt = search.strategy.update(search.probe, clock)
            evaluations += [learnt.values["evaluations"]] if learnt else []
        else:
            search.weight_step(clock)
    return {
        "part": "settings",
        "case": name,
        "seed": seed,
        "architecture": str(search.strategy.leader()),
        "evaluations": round(sum(evaluations) / rounds),
        "minutes": round((time.perf_counter() - begun) / 60, 2),
    }


def run_method(data: str, space: SpaceSpec, method: str, seed: int, lengths: Lengths) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        found = meritnas.search(
            data,
            space=space,
            strategy=method,
            epochs=lengths.search,
            retraining=Retraining(epochs=lengths.retrain, plain=False),
            seed=seed,
            out=Path(folder) / "run",
            run=RunOptions(threads=1),
        )
        normal = str(found.architecture).partition("normal_concat")[0]
        return {
            "part": "collapse",
            "case": method,
            "space": space.name,
            "seed": seed,
            "skips": normal.count("skip_connect"),
            "accuracy": round(found.test["accuracy"], 4),
            "params": found.summary["params"],
            "architecture": str(found.architecture),
            "minutes": round((time.perf_counter() - begun) / 60, 2),
        }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--warmup", type=int, default=1500, help="steps before the settings part")
    parser.add_argument("--rounds", type=int, default=2, help="epochs with an estimate after each")
    parser.add_argument("--data", default="digits", help="bundled images for S1 to S4")
    parser.add_argument("--spaces", default=",".join(SPACES))
    parser.add_argument("--epochs", type=int, default=12, help="of a search on S1 to S4")
    parser.add_argument("--retrain-epochs", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    setting = Setting(
        args.images, 24, 4 if args.quick else 16, 1, 8 if args.quick else 64, 0.1, 0.5,
        2 if args.quick else args.warmup, 0.0,
    )  # fmt: skip
    cases = list(variants())[: 1 if args.quick else None]
    if args.quick:
        cases = [(name, {**options, "permutations": 2}) for name, options in cases]
    lengths = Lengths(2, 1) if args.quick else Lengths(args.epochs, args.retrain_epochs)
    channels = 4 if args.quick else 8
    sizes = {"channels": channels, "cells": 3, "supernet_channels": channels, "supernet_cells": 3}
    names = args.spaces.split(",")[: 1 if args.quick else None]
    spaces = [space_spec(name, sizes) for name in names]
    table = nasbench201_table(args.table)
    with (
        tempfile.TemporaryDirectory() as folder,
        workers(args.jobs, quick=args.quick) as pool,
    ):
        files = {seed: Path(folder) / f"{seed}.pt" for seed in seeds}
        for warm in [pool.submit(warm_up, setting, seed, files[seed]) for seed in seeds]:
            warm.result()
        rounds = 1 if args.quick else args.rounds
        jobs = [
            pool.submit(run_variant, setting, name, options, seed, rounds, files[seed])
            for name, options in cases
            for seed in seeds
        ]
        jobs += [
            pool.submit(run_method, args.data, space, method, seed, lengths)
            for space in spaces
            for method in (METHODS[::3] if args.quick else METHODS)
            for seed in seeds
        ]
        rows: list[dict[str, Any]] = []
        for job in jobs:
            rows.append(scored(job.result(), table))
            print(rows[-1]["part"], rows[-1]["case"], rows[-1].get("space", ""), flush=True)
    show("settings, by accuracy after 200 epochs", settings_summary(rows))
    show("skip connections in the normal cell, and accuracy", collapse_summary(rows))
    return finish(rows, list(_targets(rows)), args)


def scored(row: dict[str, Any], table: Any) -> dict[str, Any]:
    if row["part"] != "settings":
        return row
    cell = row["architecture"]
    return {
        **row,
        "valid_accuracy": table.accuracy(cell, "cifar10", "valid"),
        "test_accuracy": table.accuracy(cell, "cifar10", "test"),
    }


def settings_summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for name in dict.fromkeys(row["case"] for row in rows if row["part"] == "settings"):
        own = [row for row in rows if row["case"] == name and row["part"] == "settings"]
        found.append(
            {
                "setting": name,
                "test mean": round(mean(row["test_accuracy"] for row in own), 2),
                "evaluations": round(mean(row["evaluations"] for row in own)),
                "minutes": round(mean(row["minutes"] for row in own), 2),
            }
        )
    return found


def collapse_summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    own = [row for row in rows if row["part"] == "collapse"]
    for space in dict.fromkeys(row["space"] for row in own):
        for method in dict.fromkeys(row["case"] for row in own):
            some = [r for r in own if (r["space"], r["case"]) == (space, method)]
            found.append(
                {
                    "space": space,
                    "method": method,
                    "skips": round(mean(row["skips"] for row in some), 1),
                    "accuracy": round(mean(row["accuracy"] for row in some), 4),
                    "params": round(mean(row["params"] for row in some)),
                }
            )
    return found


def _targets(rows: list[dict[str, Any]]) -> Iterator[Target]:
    own = [row for row in rows if row["part"] == "collapse"]
    both = ("darts", "shapley")
    skips = {m: mean(row["skips"] for row in own if row["case"] == m) for m in both}
    scores = {m: mean(row["accuracy"] for row in own if row["case"] == m) for m in both}
    yield Target(
        "Shapley-NAS keeps fewer skip connections than DARTS",
        f"{skips['shapley']:.1f} against {skips['darts']:.1f} of 8",
        skips["shapley"] < skips["darts"],
    )
    yield Target(
        "and its networks are better",
        f"{scores['shapley']:.4f} against {scores['darts']:.4f}",
        scores["shapley"] > scores["darts"],
    )


if __name__ == "__main__":
    raise SystemExit(main())
