"""What searches of NAS-Bench-201's cell find under a ladder of limits, against chance and size.

    python benchmarks/nasbench201_limits.py --images cifar10.npz --table nb201.csv.gz \
        --strategies advantage,shapley,manas-ls --minutes 10 --workers 2 --json rows.json

One search for a strategy and a seed serves all limits, on the table's own count of parameters
(`params-paper`). Its time, set-up, judging and race included, is the same for all. Half of each
limit's candidates are the most probable networks that keep it, exactly, and half are drawn.
Witnesses who need no shared weights choose a short list of each, which is judged with shared
weights. In the time that is left candidates are trained from scratch for two epochs, one cell a
stage: the first of each limit's short list, then the second, and so on, then others. A regression
of what these trainings came to is one more witness, about all candidates. What it and the untrained
witnesses like best is found; it is looked up in the table, and its regret is what the best network
within the limit has more. Always with it:

- `random`: one network that keeps the limit;
- `random-race`: the same race without a search, for all of the time, of networks that keep the
  limit at random;
- `largest`: of those that cost most, the one with the smallest loss by shared weights of uniform
  paths.

And as a strategy to ask for, `random-judged`: as many random networks as others have candidates,
before the same witnesses, on shared weights of uniform paths, and then in the same race.

Without `--test` regret is by validation accuracy, which is what to tune on. Searches whose rows are
in the file already are not repeated, so that a long run can go on, and be looked at with `--test`
when it is over.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from statistics import mean, median
from typing import Any

import matplotlib
import numpy as np
import torch
from scipy.stats import spearmanr

from meritnas import ImageReading, Nasbench201, Training, nasbench201_space, nasbench201_table
from meritnas.cost.feasible import FeasibleSet
from meritnas.engine.candidates import propose_widely
from meritnas.engine.loop import Search, Unkept, run_search
from meritnas.engine.start import make_panel
from meritnas.engine.time_limit import steps_within
from meritnas.errors import DivergedError
from meritnas.families.nasbench201.benchmark import NASBench201Table, SplitName
from meritnas.families.nasbench201.family import Nasbench201Space
from meritnas.run.begin import begin
from meritnas.run.job import Job
from meritnas.settings.augment import Augment
from meritnas.settings.request import Request, RunOptions
from meritnas.space.architecture import Architecture
from meritnas.strategy.catalogue import strategy_spec
from meritnas.training.train import train_child
from meritnas.witness.one_shot import OneShot
from meritnas.witness.panel import Panel
from meritnas.witness.size import Size
from meritnas.witness.trials import NAME, WEIGHT, Trials
from meritnas.witness.vote import order
from meritnas.witness.witness import Witness
from scoreboard import Target, arguments, finish, keep, show

matplotlib.use("Agg")

Row = dict[str, Any]
Picks = tuple[int, ...]

LADDER = (80, 110, 150, 200, 320, 400, 560, 600, 830, 1100, None)
"""Thousands of parameters; None for no limit."""

COST = "params-paper"
STRATEGIES = "advantage,shapley,manas-ls"
OPTIONS: Mapping[str, Mapping[str, Any]] = {"shapley": {"game": "path"}}
CHANCE = ("random", "random-race", "largest")
JUDGED = "random-judged"
UNLED = (*CHANCE, JUDGED)
"""Nothing that was learnt about decisions proposes these."""

_SEARCHING = 0.4
"""Of the time, at most so much is for the search; what is left is for judging and racing."""

_LONG, _SHORT = 96, 16
"""How many networks are proposed for each limit, and judged with shared weights."""

_MOST_RACED = 100
"""Of one limit, where nothing but the race takes time."""

_RACE_EPOCHS = 2
_ENDING = 0.98


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
    long: int
    short: int


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


@dataclass
class Said:
    """What witnesses say about networks, each asked once.

    Attributes:
        panel: the witnesses.
        whole: what is searched.
        beliefs: of the search.
        values: by the witness's name and the network's picks.
    """

    panel: Panel
    whole: FeasibleSet
    beliefs: Sequence[np.ndarray]
    values: dict[str, dict[Picks, float]] = field(default_factory=dict)

    def ask(self, witness: Witness, networks: Sequence[Picks]) -> None:
        own = self.values.setdefault(witness.name, {})
        new = [one for one in dict.fromkeys(networks) if one not in own]
        if new:
            own.update(zip(new, witness.judge(np.array(new)).tolist(), strict=True))

    def ask_untrained(self, networks: Sequence[Picks]) -> None:
        for witness in self.panel.without_weights(self.whole, self.beliefs):
            counts = Size(self.panel.costs[COST])  # as the ladder does
            self.ask(counts if witness.name == counts.name else witness, networks)

    def order(self, networks: Sequence[Picks]) -> list[Picks]:
        """Best first, by those who have been asked about all of these."""
        weights = {**self.panel.weights, NAME: WEIGHT}
        said = {
            name: np.array([own[one] for one in networks])
            for name, own in self.values.items()
            if all(one in own for one in networks)
        }
        return [networks[k] for k in order(said, weights)]


def raced_at_random(job: Job, setting: Setting, seed: int, pool: Executor) -> list[Row]:
    """A row for each limit: the race alone; and one network at random."""
    rungs, space = rungs_of(job), job.ground.searched.space
    rng = np.random.default_rng([seed, 5])
    lists = [_random(feasible, _MOST_RACED, rng) for feasible in rungs.values()]
    raced = race(job, setting, seed, [[*map(space.architecture, each)] for each in lists], pool)
    known = {"seed": seed, "raced": len(raced), "steps": 0, "minutes": _minutes(job)}
    found: list[Row] = []
    for limit, drawn in zip(rungs, lists, strict=True):
        # Of its own, not of those of smaller limits, which train faster and would win too often.
        own = [one for one in map(space.architecture, drawn) if one in raced]
        best = min(own, key=raced.__getitem__)
        for name, one in {"random-race": best, "random": own[0]}.items():
            found.append({"strategy": name, "limit": limit, "architecture": one.text, **known})
    return found


def found_by(job: Job, setting: Setting, strategy: str, seed: int, pool: Executor) -> list[Row]:
    """A row for each limit, and what witnesses said."""
    search, own = searched(job, setting)
    rungs, space = rungs_of(job), job.ground.searched.space
    rng = np.random.default_rng([seed, 6])
    with search.own_draws():
        beliefs = search.strategy.beliefs()
        said = Said(make_panel(search, job.ground, job.bundle), rungs[None], beliefs)
        lists: dict[int | None, list[Picks]] = {}
        for limit, feasible in rungs.items():
            if strategy == JUDGED:
                lists[limit] = _random(feasible, setting.long, rng)
            else:
                fitting = [one for one in own if feasible.admits(one)]
                proposed = propose_widely(fitting, beliefs, feasible, setting.long, rng)
                lists[limit] = [tuple(space.picks(one)) for one in proposed]
            said.ask_untrained(lists[limit])
        short = {limit: said.order(each)[: setting.short] for limit, each in lists.items()}
        for each in short.values():
            said.ask(OneShot(search.probe), each)
    searching = round(search.seconds), round(time.perf_counter() - job.begun)
    waiting = [dict.fromkeys([*said.order(short[n]), *said.order(lists[n])]) for n in rungs]
    raced = race(job, setting, seed, [[*map(space.architecture, each)] for each in waiting], pool)
    trained = np.array([space.picks(one) for one in raced])
    everybody = [*dict.fromkeys(one for each in lists.values() for one in each)]
    said.ask(Trials(trained, np.array([*raced.values()]), space.sizes), everybody)
    known = {
        "seed": seed,
        "raced": len(raced),
        "steps": search.plan.weight_steps,
        "minutes": _minutes(job),
        "seconds to search, and until the race": searching,
    }
    found: list[Row] = []
    for limit, feasible in rungs.items():
        kept = [one for one in everybody if feasible.admits(space.architecture(one))]
        text = space.architecture(said.order(kept)[0]).text
        found.append({"strategy": strategy, "limit": limit, "architecture": text, **known})
    return found + [
        {
            "witness": name,
            "of": strategy,
            "seed": seed,
            "said": {space.architecture(one).text: value for one, value in values.items()},
        }
        for name, values in said.values.items()
    ]


def _random(feasible: FeasibleSet, count: int, rng: np.random.Generator) -> list[Picks]:
    """Different networks of a set, all equally likely."""
    uniform = feasible.condition([np.zeros(size) for size in feasible.space.sizes])
    return [*dict.fromkeys(map(tuple, uniform.sample(count, rng).tolist()))]


def _minutes(job: Job) -> float:
    return round((time.perf_counter() - job.begun) / 60, 2)


def race(
    job: Job,
    setting: Setting,
    seed: int,
    lists: Sequence[Sequence[Architecture]],
    pool: Executor,
) -> dict[Architecture, float]:
    """Losses of the first of each list, the second of each, and so on, until time is up."""
    deadline = job.begun + _ENDING * setting.seconds
    waiting = dict.fromkeys(one for place in zip_longest(*lists) for one in place if one)
    left, running = iter(waiting), dict[Future[tuple[float, float]], Architecture]()
    found: dict[Architecture, float] = {}
    longest = 0.0
    while True:
        now = time.perf_counter()
        enough = len(found) + len(running) >= len(LADDER) and now + longest > deadline
        while not enough and len(running) < setting.threads:
            one = next(left, None)
            if one is None:
                break
            running[pool.submit(short_training, setting, seed, one.text)] = one
        if not running:
            return found
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            loss, seconds = done.result()
            longest = max(longest, seconds)
            found[running.pop(done)] = loss


@lru_cache(maxsize=1)
def _ready(setting: Setting, seed: int) -> tuple[Job, Nasbench201Space]:
    """In a process that trains: the data, and networks of one cell a stage."""
    job = job_of(setting, "random", seed, time.perf_counter())
    image = (3, setting.size, setting.size)
    return job, nasbench201_space(10, setting.channels, 1, image=image)


def short_training(setting: Setting, seed: int, architecture: str) -> tuple[float, float]:
    """The validation loss of a network from scratch, and how many seconds that took.

    Crops of small images and a rate that does not fall made it agree less with the table.
    """
    torch.set_num_threads(1)
    job, family = _ready(setting, seed)
    begun = time.perf_counter()
    data = job.bundle
    recipe = replace(job.settings.alone, schedule="cosine", augment=Augment(flip=True))
    child = family.child(architecture, seed)
    try:
        trained = train_child(
            child, data.train, data.valid, data.task.loss, recipe, _RACE_EPOCHS, seed
        )
    except DivergedError:
        return math.inf, time.perf_counter() - begun
    return trained.valid_loss, time.perf_counter() - begun


def largest(job: Job, setting: Setting, seed: int) -> list[Row]:
    """A row for each limit: the largest network; equally large ones by shared weights."""
    search, _ = searched(job, setting)
    rungs, space = rungs_of(job), job.ground.searched.space
    panel = make_panel(search, job.ground, job.bundle)
    rng = np.random.default_rng([seed, 6])
    found: list[Row] = []
    for limit, feasible in rungs.items():
        picks = largest_of(feasible, panel, setting.short, rng)
        with search.own_draws():
            losses = OneShot(search.probe).judge(picks)
        text = space.architecture(picks[np.argmax(losses)]).text
        found.append({"strategy": "largest", "limit": limit, "architecture": text})
    known = {"seed": seed, "raced": 0, "steps": search.plan.weight_steps}
    return [{**row, **known, "minutes": _minutes(job)} for row in found]


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


def agreement(rows: Sequence[Row], table: NASBench201Table) -> list[Row]:
    """Spearman's correlation of each witness with validation accuracy, over all that it judged."""
    found = []
    for row in rows:
        truth = np.array([table.accuracy(text, "cifar10", "valid") for text in row["said"]])
        values = np.array([*row["said"].values()])
        better = truth > np.median(truth)
        found.append(
            {
                **{name: row[name] for name in ("witness", "of", "seed")},
                "networks": len(truth),
                "spearman": round(float(spearmanr(values, truth)[0]), 3),
                "better half": round(float(spearmanr(values[better], truth[better])[0]), 3),
            }
        )
    return found


def best_within(table: NASBench201Table, split: SplitName) -> dict[int | None, float]:
    texts = table.architectures
    params = np.array([table.params(text) for text in texts])
    truth = np.array([table.accuracy(text, "cifar10", split) for text in texts])
    return {
        limit: float(truth[params <= 1000 * limit].max() if limit else truth.max())
        for limit in LADDER
    }


def with_regret(row: Row, table: NASBench201Table, split: SplitName, best: float) -> Row:
    accuracy = table.accuracy(row["architecture"], "cifar10", split)
    own = {f"{split}_accuracy": accuracy, "best_accuracy": best}
    return {**row, **own, "regret": round(best - accuracy, 4)}


def summary(rows: Sequence[Row]) -> list[Row]:
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
                "raced": round(mean(row["raced"] for row in own)),
            }
        )
    return found


def draw(rows: Sequence[Row], file: Path) -> None:
    """Mean regret under each limit, a line for each; the spread is over seeds."""
    from matplotlib import pyplot

    names = [name for name in dict.fromkeys(row["strategy"] for row in rows) if name != "random"]
    figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for number, name in enumerate(sorted(names, key=lambda name: name not in UNLED)):
        by_limit = [
            [r["regret"] for r in rows if (r["strategy"], r["limit"]) == (name, limit)]
            for limit in LADDER
        ]
        middle = np.array([mean(each) for each in by_limit])
        spread = np.array([np.std(each) for each in by_limit])
        style = "--" if name in UNLED else "-"
        axis.plot(middle, style, marker="o", markersize=4, color=f"C{number}", label=name)
        axis.fill_between(
            range(len(LADDER)), middle - spread, middle + spread, color=f"C{number}", alpha=0.1
        )
    labels = ["none" if limit is None else f"{limit} k" for limit in LADDER]
    axis.set_xticks(range(len(LADDER)), labels)
    axis.set_ylim(0, 8)
    axis.set_xlabel("limit on parameters")
    axis.set_ylabel("accuracy behind the best that fits, points")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(file, dpi=110)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--minutes", type=float, default=10.0, help="of each search, in all")
    parser.add_argument("--workers", type=int, default=2, help="threads of each search")
    parser.add_argument("--size", type=int, default=16, help="pixels each way")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=3000, help="of weights, at most")
    parser.add_argument("--test", action="store_true", help="judge by test accuracy")
    parser.add_argument("--figure", type=Path, help="draw regret against the limit")
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
        3 if args.quick else _LONG,
        2 if args.quick else _SHORT,
    )
    table = nasbench201_table(args.table)
    split: SplitName = "test" if args.test else "valid"
    best = best_within(table, split)
    known = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    rows = [with_regret(row, table, split, best[row["limit"]]) for row in known if "limit" in row]
    said = [row for row in known if "witness" in row]
    seeds = [int(seed) for seed in args.seeds.split(",")]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(setting.threads, spawn) as pool:
        for seed in seeds:
            for strategy in ("largest", "random-race", *args.strategies.split(",")):
                if any((row["strategy"], row["seed"]) == (strategy, seed) for row in rows):
                    continue  # of an earlier run
                torch.set_num_threads(setting.threads)
                name = "random" if strategy in UNLED else strategy
                job = job_of(setting, name, seed, time.perf_counter())
                if strategy == "random-race":
                    found = raced_at_random(job, setting, seed, pool)
                elif strategy == "largest":
                    found = largest(job, setting, seed)
                else:
                    found = found_by(job, setting, strategy, seed, pool)
                said += agreement([row for row in found if "witness" in row], table)
                own = [
                    with_regret(row, table, split, best[row["limit"]])
                    for row in found
                    if "limit" in row
                ]
                rows += own
                keep([*rows, *said], args)
                regret = mean(row["regret"] for row in own if row["strategy"] == strategy)
                print(f"{strategy} {seed}: mean regret {regret:.2f}", flush=True)
    asked = (*CHANCE, *args.strategies.split(","))
    shown = [row for row in rows if row["seed"] in seeds and row["strategy"] in asked]
    show(f"regret under limits of so many thousand parameters, {split} accuracy", summary(shown))
    show("agreement with validation accuracy", [row for row in said if row["seed"] in seeds])
    if args.figure is not None:
        draw(shown, args.figure)
    return finish([*rows, *said], list(_targets(shown)), args)


def _targets(rows: Sequence[Mapping[str, Any]]) -> Iterator[Target]:
    regrets = {
        name: {
            seed: mean(r["regret"] for r in rows if (r["strategy"], r["seed"]) == (name, seed))
            for seed in dict.fromkeys(row["seed"] for row in rows)
        }
        for name in dict.fromkeys(row["strategy"] for row in rows)
    }
    ours = {name: mean(each.values()) for name, each in regrets.items() if name not in UNLED}
    if not ours:
        return
    first = min(ours, key=lambda name: ours[name])
    yield Target(
        "the best strategy has a mean regret of at most 1.0",
        f"{first} {ours[first]:.2f}",
        ours[first] <= 1.0,
    )
    for other in ("largest", "random-race", *({JUDGED} & regrets.keys())):
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
