"""What searches of NAS-Bench-201's cell find under a ladder of limits, against chance and size.

    python benchmarks/nasbench201_limits.py --images cifar10.npz --table nb201.csv.gz \
        --strategies advantage,shapley,manas-ls --minutes 10 --workers 2 --json rows.json

One search for a strategy and a seed serves all limits, on the table's own count of parameters
(`params-paper`). Its time, set-up and judging included, is the same for all. Each limit's
candidates are the most probable networks that keep it, exactly; the panel of witnesses decides.
What is found is looked up in the table, and its regret is what the best network within the limit
has more. Always with it, on shared weights of uniform paths that had the same time:

- `random`: one network that keeps the limit;
- `random-race`: as many of those as others have candidates, before the same panel;
- `largest`: of those that cost most, the one with the smallest one-shot loss.

Without `--test` regret is by validation accuracy, which is what to tune on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from meritnas import ImageReading, Nasbench201, Training, nasbench201_table
from meritnas.cost.feasible import FeasibleSet
from meritnas.engine.candidates import propose
from meritnas.engine.loop import Search, Unkept, run_search
from meritnas.engine.start import make_panel
from meritnas.engine.time_limit import steps_within
from meritnas.families.nasbench201.benchmark import NASBench201Table, SplitName
from meritnas.run.begin import begin
from meritnas.run.job import Job
from meritnas.settings.request import Request, RunOptions
from meritnas.space.architecture import Architecture
from meritnas.strategy.catalogue import strategy_spec
from meritnas.witness.one_shot import OneShot
from meritnas.witness.panel import Panel
from meritnas.witness.vote import rank_sums
from scoreboard import Target, arguments, finish, show

LADDER = (80, 110, 150, 200, 320, 400, 560, 600, 830, 1100, None)
"""Thousands of parameters; None for no limit."""

COST = "params-paper"
STRATEGIES = "advantage,shapley,manas-ls"
OPTIONS: Mapping[str, Mapping[str, Any]] = {"shapley": {"game": "path"}}
CHANCE = ("random", "random-race", "largest")

_SEARCHING = 0.65
"""Of the time, at most so much is for the search; what is left is for judging."""

_FEWEST, _MOST = 4, 400
_TIMED = 6


@dataclass(frozen=True)
class Setting:
    """What all searches of one run of this script have in common."""

    images: Path
    size: int
    channels: int
    cells: int
    rate: float
    steps: int
    seconds: float
    threads: int


@dataclass(frozen=True)
class Judged:
    """What witnesses say about networks.

    Attributes:
        picks: [n, decisions].
        said: by the witness's name, [n].
        weights: how much each counts.
    """

    picks: np.ndarray
    said: Mapping[str, np.ndarray]
    weights: Mapping[str, float]

    def best(self, rows: np.ndarray) -> int:
        """The row that the witnesses agree on best, among these."""
        said = {name: values[rows] for name, values in self.said.items()}
        return int(rows[np.argmin(rank_sums(said, self.weights))])


def job_of(setting: Setting, strategy: str, seed: int, begun: float) -> Job:
    """The search as the product would begin it."""
    spec = strategy_spec(strategy, OPTIONS.get(strategy, {}))
    request = Request(
        space=Nasbench201(supernet_channels=setting.channels, supernet_cells=setting.cells),
        strategy=spec,
        epochs=1,
        seed=seed,
        reading=ImageReading(image_size=(setting.size, setting.size)),
        # Where the rate falls to zero, shared weights of few images overfit and rank worse.
        training=Training(learning_rate=setting.rate, schedule="constant"),
        run=RunOptions(threads=setting.threads),
    )
    return begin(setting.images, None, request, begun=begun)[0]


def searched(job: Job, setting: Setting) -> tuple[Search, list[Architecture]]:
    """A search as long as the time allows, and what it chooses."""
    gone = time.perf_counter() - job.begun
    seconds = _SEARCHING * setting.seconds - gone
    possible, _ = steps_within(seconds, job.settings, job.ground, job.bundle)
    search = job.new_search(None, min(possible, setting.steps))
    own = run_search(search, Unkept(), _nobody)
    return search, own


def _nobody(event: dict[str, Any]) -> None:
    del event


def rungs_of(job: Job) -> dict[int | None, FeasibleSet]:
    family = job.ground.searched
    return {limit: family.within({} if limit is None else {COST: 1000 * limit}) for limit in LADDER}


def affordable(job: Job, setting: Setting, panel: Panel, feasible: FeasibleSet) -> int:
    """How many networks can be judged for each limit in the time that is left."""
    uniform = feasible.condition([np.zeros(size) for size in feasible.space.sizes])
    picks = uniform.sample(_TIMED, np.random.default_rng(0))
    begun = time.perf_counter()
    judge(panel, feasible, picks)
    for_each = (time.perf_counter() - begun) / len(picks)
    left = 0.95 * setting.seconds - (time.perf_counter() - job.begun)
    return int(min(_MOST, max(_FEWEST, left / for_each / len(LADDER))))


def judge(panel: Panel, feasible: FeasibleSet, picks: np.ndarray) -> Judged:
    said = {witness.name: witness.judge(picks) for witness in panel.within(feasible)}
    if "size" in said:  # as the ladder counts
        said["size"] = panel.costs[COST].of(picks).astype(float)
    return Judged(picks, said, panel.weights)


def found_by(job: Job, setting: Setting, strategy: str, seed: int) -> Iterator[dict[str, Any]]:
    """A row for each limit; for chance and size those of all three."""
    search, own = searched(job, setting)
    rungs, space = rungs_of(job), job.ground.searched.space
    with search.own_draws():
        panel = make_panel(search, job.ground, job.bundle)
        count = affordable(job, setting, panel, rungs[None])
        rng = np.random.default_rng([seed, 5])
        proposed: dict[int | None, np.ndarray] = {}
        for limit, feasible in rungs.items():
            if strategy == "random-race":
                uniform = feasible.condition([np.zeros(size) for size in space.sizes])
                proposed[limit] = uniform.sample(count, rng)
            else:
                fitting = [one for one in own if feasible.admits(one)]
                several = propose(fitting, search.strategy.beliefs(), feasible, count)
                proposed[limit] = np.array([space.picks(one) for one in several])
        every = np.unique(np.concatenate(list(proposed.values())), axis=0)
        judged = judge(panel, rungs[None], every)
    minutes = (time.perf_counter() - job.begun) / 60
    number = {tuple(row): i for i, row in enumerate(every.tolist())}

    def row(name: str, limit: int | None, chosen: np.ndarray, candidates: int) -> dict[str, Any]:
        return {
            "strategy": name,
            "seed": seed,
            "limit": limit,
            "architecture": str(space.architecture(chosen)),
            "candidates": candidates,
            "judged": len(every),
            "steps": search.plan.weight_steps,
            "minutes": round(minutes, 2),
        }

    for limit in rungs:
        rows = np.unique([number[tuple(each)] for each in proposed[limit].tolist()])
        yield row(strategy, limit, every[judged.best(rows)], len(rows))
        if strategy == "random-race":
            yield row("random", limit, proposed[limit][0], 1)
            picks = largest_of(rungs[limit], panel, count, rng)
            with search.own_draws():
                losses = OneShot(search.probe).judge(picks)
            yield row("largest", limit, picks[np.argmax(losses)], len(picks))
    if strategy == "random-race":
        yield {"strategy": "witnesses", "seed": seed, "judged": judged, "space": space}


def largest_of(
    feasible: FeasibleSet, panel: Panel, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Networks that cost most of all in a set, at most so many at random."""
    costs = panel.costs[COST]
    top = feasible.best([row.astype(float) for row in costs.single])
    cost = int(costs.of(np.array([feasible.space.picks(top)]))[0])
    sizes = [row.astype(float) for row in costs.single]
    picks = np.array([feasible.space.picks(one) for one in feasible.k_best(sizes, 2000)])
    picks = picks[costs.of(picks) == cost]
    return picks[rng.permutation(len(picks))[:most]]


def agreement(row: Mapping[str, Any], table: NASBench201Table) -> list[dict[str, Any]]:
    """Spearman's correlation of each witness with validation accuracy, over all that was judged."""
    judged, space = row["judged"], row["space"]
    truth = np.array(
        [table.accuracy(space.architecture(picks), "cifar10", "valid") for picks in judged.picks]
    )
    better = truth > np.median(truth)
    vote = -rank_sums(judged.said, judged.weights)
    return [
        {
            "strategy": "witness " + name,
            "seed": row["seed"],
            "networks": len(truth),
            "spearman": round(float(spearmanr(values, truth)[0]), 3),
            "better half": round(float(spearmanr(values[better], truth[better])[0]), 3),
        }
        for name, values in {**judged.said, "vote": vote}.items()
    ]


def best_within(table: NASBench201Table, split: SplitName) -> dict[int | None, float]:
    texts = table.architectures
    params = np.array([table.params(text) for text in texts])
    truth = np.array([table.accuracy(text, "cifar10", split) for text in texts])
    return {
        limit: float(truth[params <= 1000 * limit].max() if limit else truth.max())
        for limit in LADDER
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for name in dict.fromkeys(row["strategy"] for row in rows):
        own = [row for row in rows if row["strategy"] == name]
        free = [row["best_accuracy"] - row["regret"] for row in own if row["limit"] is None]
        found.append(
            {
                "strategy": name,
                "mean regret": round(mean(row["regret"] for row in own), 2),
                **{
                    str(limit or "none"): round(
                        mean(row["regret"] for row in own if row["limit"] == limit), 1
                    )
                    for limit in LADDER
                },
                "no limit, median": round(median(free), 2),
                "minutes": round(mean(row["minutes"] for row in own), 1),
                "candidates": round(mean(row["candidates"] for row in own)),
            }
        )
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--minutes", type=float, default=10.0, help="of each search, in all")
    parser.add_argument("--workers", type=int, default=2, help="threads of each search")
    parser.add_argument("--size", type=int, default=24, help="pixels each way")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=4000, help="of weights, at most")
    parser.add_argument("--test", action="store_true", help="judge by test accuracy")
    args = parser.parse_args()
    setting = Setting(
        args.images,
        args.size,
        4 if args.quick else args.channels,
        args.cells,
        args.rate,
        4 if args.quick else args.steps,
        2.0 if args.quick else 60 * args.minutes,
        args.workers,
    )
    table = nasbench201_table(args.table)
    split: SplitName = "test" if args.test else "valid"
    best = best_within(table, split)
    rows: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for seed in map(int, args.seeds.split(",")):
        for strategy in ("random-race", *args.strategies.split(",")):
            torch.set_num_threads(setting.threads)
            name = "random" if strategy == "random-race" else strategy
            job = job_of(setting, name, seed, time.perf_counter())
            for row in found_by(job, setting, strategy, seed):
                if row["strategy"] == "witnesses":
                    said += agreement(row, table)
                    continue
                accuracy = table.accuracy(row["architecture"], "cifar10", split)
                regret = best[row["limit"]] - accuracy
                known = {"best_accuracy": best[row["limit"]], "regret": round(regret, 4)}
                rows.append({**row, f"{split}_accuracy": accuracy, **known})
            own = [
                row["regret"] for row in rows if (row["strategy"], row["seed"]) == (strategy, seed)
            ]
            print(f"{strategy} {seed}: mean regret {mean(own):.2f}", flush=True)
    show(f"regret under limits of so many thousand parameters, {split} accuracy", summary(rows))
    show("agreement with validation accuracy", said)
    return finish([*rows, *said], list(_targets(rows)), args)


def _targets(rows: Sequence[Mapping[str, Any]]) -> Iterator[Target]:
    regrets = {
        name: {
            seed: mean(r["regret"] for r in rows if (r["strategy"], r["seed"]) == (name, seed))
            for seed in dict.fromkeys(row["seed"] for row in rows)
        }
        for name in dict.fromkeys(row["strategy"] for row in rows)
    }
    ours = {name: mean(each.values()) for name, each in regrets.items() if name not in CHANCE}
    if not ours:
        return
    first = min(ours, key=lambda name: ours[name])
    yield Target(
        "the best strategy has a mean regret of at most 1.0",
        f"{first} {ours[first]:.2f}",
        ours[first] <= 1.0,
    )
    for other in ("largest", "random-race"):
        wins = sum(regrets[first][seed] < regrets[other][seed] for seed in regrets[first])
        yield Target(
            f"{first} below {other} on 4 of 5 seeds",
            f"{wins} of {len(regrets[first])}",
            wins >= 0.8 * len(regrets[first]),
        )
    for name in ours:
        yield Target(
            f"{name} below random-race in the mean",
            f"{ours[name]:.2f} against {mean(regrets['random-race'].values()):.2f}",
            ours[name] < mean(regrets["random-race"].values()),
        )


if __name__ == "__main__":
    raise SystemExit(main())
