"""Is what a search returns ever worse than a plain network, or than networks at random?

    python benchmarks/plain.py mnist5k --space convnet --limits 50k,150k,400k --minutes 3 \
        --seeds 0,1,2 --json rows.json

Under every limit and with every seed, which decides the split, each of these has the same minutes
and ends with networks that are trained from scratch by the same recipe:

- `ours`: a search as a user starts it, plain networks in its race;
- `plain`: the plain networks alone; what is left of the time goes into longer trainings and further
  seeds of the winner;
- `random-race`: networks that keep the limit at random, in the race that a search's favourites
  have.

Validation loss chooses within each, the test part is scored once. Rows that the JSON file has
already are not measured again.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from meritnas.errors import SpaceError
from meritnas.run import stages
from meritnas.run.begin import begin
from meritnas.run.choice import write_choice
from meritnas.run.job import Job
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import main_metric
from scoreboard import Target, arguments, finish, keep, show

Row = dict[str, Any]

METHODS = ("ours", "plain", "random-race")
_RANDOM = 32
"""As many as candidates of a search."""

_SMALLER_IS_BETTER = ("perplexity",)


def measured(data: str, target: str | None, method: str, request: Request, folder: Path) -> Row:
    """One of the methods, under one limit, with one seed."""
    begun = time.perf_counter()
    job, config = begin(data, target, request, begun=begun)
    with RunStore.create(folder / "run", config) as store:
        if method == "ours":
            search, planning = job.planned_search()
            stages.start(job, store, _nobody, search, planning)
        else:
            networks = plain_ones(job) if method == "plain" else random_ones(job, request.seed)
            if not networks:
                raise SpaceError(f"no plain network keeps {dict(job.settings.limits)}")
            race(job, store, networks, time.perf_counter() - begun)
        result = store.read_json("result.json", "test")
    metric = main_metric(job.bundle.task)
    return {
        "metric": metric,
        "score": result["test"][metric],
        "architecture": result["architecture"],
        "params": result["costs"]["params"],
        "plain won": bool(result.get("plain", {}).get("won")),
        "minutes": (time.perf_counter() - begun) / 60,
    }


def plain_ones(job: Job) -> list[Architecture]:
    family = job.ground.family
    return [family.parse(text) for text in job.plain]


def random_ones(job: Job, seed: int) -> list[Architecture]:
    feasible = job.ground.feasible
    uniform = feasible.condition([np.zeros(size) for size in feasible.space.sizes])
    drawn = uniform.sample(_RANDOM, np.random.default_rng([seed, 7]))
    return [*dict.fromkeys(map(feasible.space.architecture, drawn))]


def race(job: Job, store: RunStore, networks: Sequence[Architecture], gone: float) -> None:
    """Train networks as if a search had found them in no time."""
    job.prepared.write(store)
    store.write_json("plan.json", {"search": {}, "planning": gone})
    write_choice(job, store, networks, ladder=[], strategy=stages.GIVEN, passes=0, seconds=0.0)
    stages.resume(job, store, _nobody)


def _nobody(event: dict[str, Any]) -> None:
    del event


def summary(rows: Sequence[Row]) -> list[Row]:
    """Mean and spread of each method under each limit."""
    found = []
    for limit in dict.fromkeys(row["limit"] for row in rows):
        for method in METHODS:
            own = [row for row in rows if (row["limit"], row["method"]) == (limit, method)]
            if own:
                scores = [row["score"] for row in own]
                found.append(
                    {
                        "limit": limit,
                        "method": method,
                        own[0]["metric"]: round(mean(scores), 4),
                        "spread": round(stdev(scores), 4) if len(scores) > 1 else 0.0,
                        "params": round(mean(row["params"] for row in own)),
                        "minutes": round(mean(row["minutes"] for row in own), 1),
                        "plain won": sum(row["plain won"] for row in own),
                    }
                )
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", help="a bundled name or a file")
    parser.add_argument("--target", help="the column to predict")
    parser.add_argument("--space", help="the usual one if left out")
    parser.add_argument("--strategy", help="the usual one if left out")
    parser.add_argument("--limits", default="50k,150k,400k", help="on parameters")
    parser.add_argument("--minutes", type=float, default=3.0, help="of each")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    minutes = 0.03 if args.quick else args.minutes
    limits = args.limits.split(",")[: 1 if args.quick else None]
    seeds = [int(seed) for seed in args.seeds.split(",")][: 1 if args.quick else None]
    kept = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    rows: list[Row] = list(kept)
    for seed in seeds:
        for limit in limits:
            for method in args.methods.split(","):
                known = {
                    **{"data": Path(args.data).name, "space": args.space, "limit": limit},
                    **{"method": method, "seed": seed, "asked minutes": minutes},
                }
                if any(known.items() <= row.items() for row in rows):
                    continue
                request = Request(
                    space=args.space,
                    strategy=args.strategy,
                    minutes=minutes,
                    seed=seed,
                    limits=Limits(max_params=number(limit)),
                    retraining=Retraining(plain=method != "random-race"),
                    run=RunOptions(threads=args.threads),
                )
                with tempfile.TemporaryDirectory() as folder:
                    found = measured(args.data, args.target, method, request, Path(folder))
                rows.append({**known, **found})
                keep(rows, args)
                print(f"{limit} seed {seed} {method}: {found['score']:.4f}", flush=True)
    show(f"{args.data}, {minutes:g} minutes each", summary(rows))
    return finish(rows, list(_targets(rows)), args)


def number(text: str) -> int:
    scale = {"k": 1000, "M": 1_000_000}.get(text[-1], 1)
    return int(float(text.rstrip("kM")) * scale)


def _targets(rows: Sequence[Mapping[str, Any]]) -> Iterator[Target]:
    for limit in dict.fromkeys(row["limit"] for row in rows):
        scores = {
            method: [
                row["score"] * (-1 if row["metric"] in _SMALLER_IS_BETTER else 1)
                for row in rows
                if (row["limit"], row["method"]) == (limit, method)
            ]
            for method in METHODS
        }
        ours = scores["ours"]
        for other in ("plain", "random-race"):
            if not scores[other]:
                continue
            spread = max(stdev(ours), stdev(scores[other])) if len(ours) > 1 else 0.0
            behind = mean(scores[other]) - mean(ours)
            yield Target(
                f"{limit}: not behind {other} by more than the spread",
                f"{-behind:+.4f}, spread {spread:.4f}",
                behind <= spread,
            )


if __name__ == "__main__":
    raise SystemExit(main())
