"""Does a teacher make a table's network better, in the same time?

    python benchmarks/teachers.py houses.tsv.gz:target:2000 adult.csv.gz:income:4000 \
        --seeds 0,1,2 --json rows.json

Under every limit and with every seed, which decides the split, the same architectures (drawn among
those that keep the limit, the largest ones, and a plain one) are trained from scratch as if a
search had found them:

- `none`: by labels alone, `--epochs` each;
- `trees`: taught by boosted trees, each row answered by trees that have not seen it;
- `finalists`: the winner once more, taught by all that were trained to the end.

What a teacher takes is taken from the epochs of each training: all have about the same CPU time,
which does not depend on what else the machine does. `--shares` are the shares of the loss that ask
for what the teacher says. All numbers are of validation rows, by which the best network of each is
chosen. Rows that the JSON file has already are not measured again.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from meritnas.data.tables.reading import TableReading
from meritnas.prediction.predictor import load_predictor
from meritnas.run.begin import begin
from meritnas.run.teacher import MOST_SECONDS
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import main_metric, scores_on
from meritnas.training.teacher import trees_out_of_fold
from meritnas.training.threads import limited_threads
from plain import race, random_ones
from scoreboard import arguments, finish, keep, show

Row = dict[str, Any]

_SEEDS = 2
"""Of the winner."""

_ONE_THREAD = RunOptions(threads=1)

_NETWORKS = 8
"""Of those drawn, the largest: three take part, others where there is time left."""


def measured(data: str, target: str, request: Request, folder: Path) -> Row:
    """One race, and how good its best network is on validation rows."""
    job, config = begin(data, target, request)
    begun = time.process_time()
    drawn = random_ones(job, request.seed)
    largest = sorted(drawn, key=lambda one: -job.ground.family.cost(one))[:_NETWORKS]
    with RunStore.create(folder / "run", config) as store:
        race(job, store, largest, 0.0)
        trainings = store.read_json("retrain.json")["results"]
    spent = time.process_time() - begun
    metric = main_metric(job.bundle.task)
    module = load_predictor(folder / "run").module
    best = min(trainings, key=lambda one: float(one["valid_loss"]))
    return {
        "metric": metric,
        "score": scores_on(module, job.bundle.task, job.bundle.valid)[metric],
        "loss": best["valid_loss"],
        "architecture": best["architecture"],
        "epochs": best["epochs"],
        "trainings": len(trainings),
        "taught": bool(best.get("taught", request.retraining.teacher == "trees")),
        "seconds": spent,
    }


def epochs_beside(data: str, target: str, limit: int, teacher: str, alone: Row) -> int:
    """Of each training beside a teacher, in the CPU time of those that are `alone`."""
    if teacher == "finalists":  # who train for it anyway; the winner's seeds come once more
        return max(1, round(alone["epochs"] * alone["trainings"] / (alone["trainings"] + _SEEDS)))
    request = Request(seed=alone["seed"], limits=Limits(max_params=limit), run=_ONE_THREAD)
    job, _ = begin(data, target, request)
    begun = time.process_time()
    inputs, train = job.bundle.encoder.inputs, job.bundle.train.sample
    with limited_threads(1):
        trees_out_of_fold(job.bundle.task, inputs, train, MOST_SECONDS, alone["seed"])
    share = (time.process_time() - begun) / alone["seconds"]
    return max(1, round(alone["epochs"] * (1.0 - share)))


def summary(rows: Sequence[Row]) -> list[Row]:
    """Means, and how often a teacher was better than none, seed by seed."""
    found = []
    for data, limit, teacher, share in dict.fromkeys(
        (row["data"], row["limit"], row["teacher"], row["share"]) for row in rows
    ):
        here = [row for row in rows if (row["data"], row["limit"]) == (data, limit)]
        own = [row for row in here if (row["teacher"], row["share"]) == (teacher, share)]
        gains = [
            alone["loss"] - row["loss"]
            for row in own
            for alone in here
            if alone["teacher"] == "none" and alone["seed"] == row["seed"]
        ]
        found.append(
            {
                "data": data,
                "limit": limit,
                "teacher": teacher,
                "share": share,
                own[0]["metric"]: f"{mean(row['score'] for row in own):.4f}",
                "loss": f"{mean(row['loss'] for row in own):.4f}",
                "epochs": round(mean(row["epochs"] for row in own)),
                "loss below none": f"{mean(gains):+.4f} ± {stdev(gains) if gains[1:] else 0:.4f}",
                "better": f"{sum(gain > 0 for gain in gains)} of {len(gains)}",
                "seconds": round(mean(row["seconds"] for row in own), 1),
            }
        )
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("tables", nargs="+", help="DATA:TARGET:LIMIT")
    parser.add_argument("--epochs", type=int, default=40, help="of each training by labels alone")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--teachers", default="trees,finalists")
    parser.add_argument("--shares", default="", help="by default the usual one")
    args = parser.parse_args()
    epochs = 2 if args.quick else args.epochs
    seeds = [int(seed) for seed in args.seeds.split(",")][: 1 if args.quick else None]
    shares: list[float | None] = [float(text) for text in args.shares.split(",") if text] or [None]
    rows: list[Row] = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    for seed in seeds:
        for table in args.tables:
            data, target, limit = table.split(":")
            asked = [(teacher, share) for teacher in args.teachers.split(",") for share in shares]
            alone: Row = {}
            for teacher, share in [("none", None), *asked]:
                known: Row = {
                    **{"data": Path(data).name, "limit": int(limit), "seed": seed},
                    **{"teacher": teacher, "share": share, "asked epochs": epochs},
                }
                row = next((row for row in rows if known.items() <= row.items()), None)
                if row is None:
                    row = {**known, **_one(data, target, known, alone)}
                    rows.append(row)
                    keep(rows, args)
                    print(f"{table} {seed} {teacher} {row['loss']:.4f}", flush=True)
                alone = alone or row
    show("with and without a teacher", summary(rows))
    return finish(rows, [], args)


def _one(data: str, target: str, asked: Row, alone: Row) -> Row:
    """What is asked for, in the time of what was trained alone, if that is there."""
    epochs, teacher = asked["asked epochs"], asked["teacher"]
    if alone:
        epochs = epochs_beside(data, target, asked["limit"], teacher, alone)
    request = Request(
        seed=asked["seed"],
        limits=Limits(max_params=asked["limit"]),
        reading=TableReading(yardstick=False),
        retraining=Retraining(
            epochs=epochs,
            seeds=_SEEDS,
            teacher=teacher if alone else None,
            teacher_share=asked["share"],
        ),
        run=_ONE_THREAD,
    )
    with tempfile.TemporaryDirectory() as folder:
        return measured(data, target, request, Path(folder))


if __name__ == "__main__":
    raise SystemExit(main())
