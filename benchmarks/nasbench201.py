"""Searches of NAS-Bench-201's cell on CIFAR-10 images, scored by the accuracy in its table.

    python benchmarks/nasbench201.py --images cifar10.npz --table nb201.csv.gz --json rows.json

One small supernet for each seed is warmed up on uniform paths; every strategy then goes on from
there for the same time. What it found is looked up in the table: nothing is retrained. Without the
zero operation, as AdvantageNAS' table 2, and for the strategies that run one path also with it
(its table 4); by the final policy (`argmax`) and, where a strategy judges
single networks, by the best one that it saw (`process-best`).
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import (
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import matplotlib
import numpy as np
import torch

from meritnas import nasbench201_space, nasbench201_table
from meritnas.data.bundle import Bundle, Outline
from meritnas.data.images.bundle import encode_images
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.source import load_images
from meritnas.data.split import Split, split_few
from meritnas.data.stream import BatchStream
from meritnas.data.task import Task
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.families.nasbench201.family import Nasbench201Space
from meritnas.settings.augment import Augment
from meritnas.settings.recipe import TrainRecipe
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import module_of
from scoreboard import Target, arguments, finish, show

matplotlib.use("Agg")

STRATEGIES = "advantage,random,darts,snas,nasp,gdas,reinforce,proxyless,parsec"
SPARSE = ("gdas", "reinforce", "proxyless", "parsec", "advantage")
JUDGES = ("gdas", "reinforce", "parsec", "advantage")
"""Strategies that can choose the best network they saw."""

OPTIONS: dict[str, dict[str, Any]] = {"shapley": {"permutations": 10}}
"""The paper's setting, where the usual one would depend on how many steps fit into the time."""

GOALS = {"advantage": (93.5, 10), "shapley": (93.7, 15)}
"""Median test accuracy and the minutes that a search with its warm-up may take."""

_MARKS = 12
_TIMED = 6


@dataclass(frozen=True)
class Setting:
    """What all searches of one run of this script have in common."""

    images: Path
    size: int
    channels: int
    cells: int
    batch: int
    rate: float
    valid: float
    warmup: int
    seconds: float
    threads: int = 1


@dataclass(frozen=True)
class Trial:
    """One search."""

    strategy: str
    zero: bool
    seed: int


def bundle_of(setting: Setting, seed: int) -> Bundle[ImageEncoder]:
    """The images that the data set does not keep for testing, in two parts."""
    source = load_images(setting.images, setting.size)
    task = Task.find(source.labels, np.arange(len(source.labels)), "classification")
    rows = np.arange(len(source.labels))
    if source.test is not None:
        rows = np.flatnonzero(~source.test)
    codes = task.encode(source.labels).numpy()[rows]
    split = split_few(len(rows), codes, seed, valid=setting.valid, test=0.0)
    own = Split(rows[split.train], rows[split.valid], rows[:0])
    return encode_images(source, Outline(task, own))


def make_search(
    setting: Setting,
    trial: Trial,
    bundle: Bundle[ImageEncoder],
    plan: Plan,
    options: Mapping[str, Any],
) -> Search:
    family = family_of(bundle, zero=trial.zero)
    supernet = family.supernet(trial.seed, setting.channels, setting.cells)
    augment = Augment(crop=setting.size // 8, flip=True)
    recipe = TrainRecipe(
        "sgd",
        learning_rate=setting.rate,
        batch_size=setting.batch,
        weight_decay=5e-4,
        decay="gradient",
        nesterov=True,
        clip=1.0,  # AdvantageNAS, appendix D
        dropout=0.0,
        averaging=0.0,
        augment=augment,
    )
    train = BatchStream(bundle.train, setting.batch, trial.seed, augment)
    valid = BatchStream(bundle.valid, setting.batch, trial.seed + 1)
    held = bundle.valid.slice(0, min(len(bundle.valid), 1024))
    probe = Probe(supernet, bundle.task.loss, train, valid, held, bundle.task.score)
    problem = Problem(
        family.feasible(),
        family.costs,
        plan.joint,
        trial.seed,
        weight_rate=setting.rate,
        nodes=family.nodes,
        tables=family.tables,
        chance_loss=bundle.task.chance_loss,
    )
    strategy = strategy_spec(trial.strategy, options).make(problem)
    rng = np.random.default_rng(trial.seed)
    return Search(supernet, probe, strategy, recipe, plan, rng)


def family_of(bundle: Bundle[ImageEncoder], *, zero: bool) -> Nasbench201Space:
    return nasbench201_space(bundle.task.outputs, zero=zero, image=bundle.encoder.shape)


def warm_up(setting: Setting, seed: int, file: Path) -> float:
    """Train weights on uniform paths without the zero operation; the minutes that took."""
    torch.set_num_threads(setting.threads)
    begun = time.perf_counter()
    bundle = bundle_of(setting, seed)
    plan = Plan(setting.warmup, setting.warmup, 0)  # the first half of the learning rate's cosine
    search = make_search(setting, Trial("random", False, seed), bundle, plan, {})
    for clock in plan.clocks(0):
        if clock.phase != "warmup":
            break
        search.weight_step(clock)
    torch.save(
        {
            "supernet": module_of(search.supernet).state_dict(),
            "optimizer": search.optimizer.state_dict(),
        },
        file,
    )
    return (time.perf_counter() - begun) / 60


def continued(search: Search, file: Path, *, zero: bool) -> Search:
    """Put the warmed-up weights into a search; with the zero operation others count one more."""
    state = torch.load(file, weights_only=True)
    kept = state["optimizer"]
    if zero:
        state["supernet"] = {_shifted(name): value for name, value in state["supernet"].items()}
        kept = {
            part: {_shifted(name): value for name, value in kept[part].items()} for part in kept
        }
    module_of(search.supernet).load_state_dict(state["supernet"])
    search.optimizer.load_state_dict(kept)
    return search


def _shifted(name: str) -> str:
    return re.sub(r"\.options\.(\d+)\.", lambda found: f".options.{int(found[1]) + 1}.", name)


def run_trial(setting: Setting, trial: Trial, file: Path) -> list[dict[str, Any]]:
    """A search for the time given; a row for each way to choose what it found."""
    torch.set_num_threads(setting.threads)
    bundle = bundle_of(setting, trial.seed)
    steps = _steps_within(setting, trial, bundle, file)
    options = {"final": "process-best"} if trial.strategy in JUDGES else options_of(trial)
    begun = time.perf_counter()
    # As many steps as a warm-up that is over: the second half of the learning rate's cosine.
    plan = replace(steps, warmup=steps.joint)
    search = continued(make_search(setting, trial, bundle, plan, options), file, zero=trial.zero)
    entropy: list[float] = []
    leaders: list[str] = []
    for clock in plan.clocks(plan.joint):
        if clock.phase == search.strategy.turns.phase:
            search.strategy.update(search.probe, clock)
        if clock.phase != "frozen":
            search.weight_step(clock)
        done = clock.step + 1 - plan.joint
        total = plan.steps - plan.joint
        if done * _MARKS // total > (done - 1) * _MARKS // total:
            entropy.append(round(_entropy(search), 4))
            leaders.append(str(search.strategy.leader()))
    minutes = (time.perf_counter() - begun) / 60
    found = {"argmax": str(search.strategy.leader())}
    if trial.strategy in JUDGES:
        found["process-best"] = str(search.strategy.derive(search.probe)[0])
    return [
        {
            "strategy": trial.strategy,
            "zero": trial.zero,
            "final": final,
            "seed": trial.seed,
            "architecture": architecture,
            "minutes": round(minutes, 2),
            "steps": plan.joint,
            "entropy": entropy,
            "leaders": leaders,
        }
        for final, architecture in found.items()
    ]


def _steps_within(setting: Setting, trial: Trial, bundle: Bundle[ImageEncoder], file: Path) -> Plan:
    """How many steps fit into the time, measured by taking a few."""
    trained = Plan(_TIMED, _TIMED, _TIMED)
    search = make_search(setting, trial, bundle, trained, options_of(trial))
    continued(search, file, zero=trial.zero)
    turns, spent = search.strategy.turns, {"joint": 0.0, "frozen": 0.0}
    rests = turns.phase == "frozen" and turns.each_epoch != 0
    for clock in trained.clocks(_TIMED):
        if clock.phase == "frozen" and not rests:
            break
        begun = time.perf_counter()
        if clock.phase == turns.phase:
            search.strategy.update(search.probe, clock)
        if clock.phase != "frozen":
            search.weight_step(clock)
        if clock.phase_step:  # the first warms caches up
            spent[clock.phase] += (time.perf_counter() - begun) / (_TIMED - 1)
    if not rests:
        return Plan(0, max(_MARKS, int(setting.seconds / spent["joint"])), 0)
    if turns.each_epoch is None:
        half = setting.seconds / 2
        return Plan(0, max(1, int(half / spent["joint"])), max(_MARKS, int(half / spent["frozen"])))
    epoch = search.probe.epoch_steps
    seconds_a_round = epoch * spent["joint"] + turns.each_epoch * spent["frozen"]
    rounds = max(1, round(setting.seconds / seconds_a_round))
    return Plan(0, rounds * epoch, rounds * turns.each_epoch, rounds)


def options_of(trial: Trial) -> dict[str, Any]:
    return OPTIONS.get(trial.strategy, {})


def _entropy(search: Search) -> float:
    """Mean over the edges, in nats: ln 4 where nothing is decided without the zero operation."""
    rows = search.strategy.beliefs()
    return float(np.mean([-(p * np.log(np.maximum(p, 1e-300))).sum() for p in rows]))


def trials(names: list[str], seed: int, *, zero: bool) -> Iterator[Trial]:
    for name in names:
        yield Trial(name, False, seed)
    for name in names:
        if zero and name in SPARSE:
            yield Trial(name, True, seed)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = list(dict.fromkeys((row["zero"], row["strategy"], row["final"]) for row in rows))
    found = []
    for zero, strategy, final in sorted(keys, key=lambda key: key[0]):
        own = [
            row
            for row in rows
            if (row["zero"], row["strategy"], row["final"]) == (zero, strategy, final)
        ]
        tests = [row["test_accuracy"] for row in own]
        found.append(
            {
                "zero": zero,
                "strategy": strategy,
                "final": final,
                "test median": round(median(tests), 2),
                "test mean": round(mean(tests), 2),
                "spread": round(stdev(tests), 2) if len(tests) > 1 else 0.0,
                "params": round(mean(row["params"] for row in own)),
                "entropy": round(mean(row["entropy"][-1] for row in own), 3),
                "minutes": round(mean(row["minutes"] for row in own), 2),
                "steps": round(mean(row["steps"] for row in own)),
            }
        )
    return found


def draw(rows: list[dict[str, Any]], accuracy: Any, file: Path) -> None:
    """Entropy of the policy and true accuracy of its leader over the time of a search."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    names = dict.fromkeys(row["strategy"] for row in rows if not row["zero"])
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    marks = np.arange(1, _MARKS + 1) / _MARKS
    for name in names:
        own = [
            r for r in rows if r["strategy"] == name and not r["zero"] and r["final"] == "argmax"
        ]
        if name != "random":
            middle = np.median([r["entropy"] for r in own], axis=0)
            axes[0].plot(marks, middle, color=colours[name])
        values = [[accuracy(leader) for leader in r["leaders"]] for r in own]
        axes[1].plot(marks, np.median(values, axis=0), color=colours[name], label=name)
    axes[0].set(xlabel="share of the search", ylabel="mean entropy of an edge (nats)")
    axes[1].set(xlabel="share of the search", ylabel="test accuracy of the leader (%)")
    axes[1].set_ylim(bottom=max(80, axes[1].get_ylim()[0]))
    for axis in axes:
        axis.grid(alpha=0.3)
    axes[1].legend(fontsize=8, ncol=2)
    figure.savefig(file, dpi=110)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--minutes", type=float, default=3.0, help="of one search, after warm-up")
    parser.add_argument("--warmup", type=int, default=2500, help="steps shared by all searches")
    parser.add_argument("--size", type=int, default=24, help="pixels each way")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--valid", type=float, default=0.2, help="share of images to judge on")
    parser.add_argument("--no-zero", action="store_true", help="skip the space with zeros")
    parser.add_argument("--jobs", type=int, default=2, help="searches at a time")
    parser.add_argument("--threads", type=int, default=1, help="of each search")
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    names = args.strategies.split(",")
    setting = Setting(
        args.images,
        args.size,
        4 if args.quick else args.channels,
        args.cells,
        args.batch,
        args.rate,
        args.valid,
        4 if args.quick else args.warmup,
        0.1 if args.quick else 60 * args.minutes,
        args.threads,
    )
    table = nasbench201_table(args.table)
    with tempfile.TemporaryDirectory() as folder, workers(args.jobs, quick=args.quick) as pool:
        files = {seed: Path(folder) / f"{seed}.pt" for seed in seeds}
        warming = {pool.submit(warm_up, setting, seed, files[seed]): seed for seed in seeds}
        warm: dict[int, float] = {}
        jobs = []
        for done in as_completed(warming):
            seed = warming[done]
            warm[seed] = done.result()
            jobs += [
                pool.submit(run_trial, setting, trial, files[seed])
                for trial in trials(names, seed, zero=not args.no_zero)
            ]
        rows: list[dict[str, Any]] = []
        for job in jobs:
            for row in job.result():
                accuracies = {
                    f"{split}_accuracy": table.accuracy(row["architecture"], "cifar10", split)
                    for split in ("valid", "test")
                }
                warmed = {"warmup_minutes": round(warm[row["seed"]], 2)}
                rows.append(
                    {**row, **accuracies, "params": table.params(row["architecture"]), **warmed}
                )
                print(
                    row["strategy"], "zero" if row["zero"] else "", row["final"], row["seed"],
                    rows[-1]["valid_accuracy"], row["architecture"], flush=True,
                )  # fmt: skip
    show("what was found, by its accuracy after 200 epochs", summary(rows))
    if args.figure is not None:
        draw(rows, lambda arch: table.accuracy(arch, "cifar10", "test"), args.figure)
    return finish(rows, list(_targets(rows)), args)


def workers(jobs: int, *, quick: bool) -> Executor:
    """Processes; for a quick run a thread, as a process takes seconds to load torch."""
    if quick:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def _targets(rows: list[dict[str, Any]]) -> Iterator[Target]:
    for name, (goal, minutes) in GOALS.items():
        own = [
            row
            for row in rows
            if row["strategy"] == name and row["final"] == "argmax" and not row["zero"]
        ]
        if own:
            found = median(row["test_accuracy"] for row in own)
            yield Target(
                f"{name}: median test accuracy of at least {goal}", f"{found:.2f}", found >= goal
            )
            longest = max(row["minutes"] + row["warmup_minutes"] for row in own)
            yield Target(
                f"{name}: a search with its warm-up within {minutes} minutes",
                f"{longest:.1f}",
                longest <= minutes,
            )


if __name__ == "__main__":
    raise SystemExit(main())
