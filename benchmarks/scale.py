"""Path steps a second of a search on one process and on two, and what more would cost.

A path step trains one path of the supernet on one batch. One process takes one a weight step, with
one thread or with two; two processes with a thread each take four a weight step, as virtual
workers, two each, so that who has a short path waits less, and exchange gradients. All take turns,
a few steps each, so that whatever else the machine does meets all of them; ratios are medians over
these turns. Where others use the cores, wall-clock time
says little of two processes that wait for each other, so CPU time is told as well: a weight step of
two ranks counts as the longer one's.

Then four workers search on one, two and four ranks, and the weights that they come to are compared.
At last a step on 8, 64 and 512 ranks with as many workers is computed from what was measured here:
how long steps of single paths take (a rank waits for the slowest), how large their gradients are,
how long it takes to draw a path and a batch, which every rank does for all, and to add two
gradients; and from a network that is stated: every rank receives those of all others, one after the
other, as gloo's ring has it.

    python benchmarks/scale.py --rounds 9 --json scale.json
    python benchmarks/scale.py --simulate --gbit 25 --microseconds 20
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch

from meritnas import nasbench201_space, tabular_space
from meritnas.clock import Clock
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.data.task import Task
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.families.family import Family
from meritnas.run.local_ranks import LocalRanks
from meritnas.settings.recipe import TrainRecipe
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import module_of
from meritnas.training.threads import limited_threads
from meritnas.workers.virtual import VirtualWorkers
from meritnas.workers.workers import ONE, Workers
from scoreboard import Target, arguments, finish, show

GOAL = 1.7
CLASSES = 10
SHARED = 4
"""Workers of a search on two ranks, and of the one compared on one, two and four."""

SIMULATED = (1, 8, 64, 512)
MOST_SIMULATED = 1 << 16


def space_and_rows(work: str, quick: bool) -> tuple[Family, torch.Tensor, int]:
    """The networks, rows that they read, and how many make a batch."""
    generator = torch.Generator().manual_seed(0)
    family: Family
    if work == "cells":
        size, channels, batch = (8, 4, 8) if quick else (24, 16, 64)
        images = torch.randn(4 * batch, 3, size, size, generator=generator)
        family = nasbench201_space(CLASSES, channels, cells=1, image=(3, size, size))
        return family, images.contiguous(memory_format=torch.channels_last), batch
    inputs, batch = (4, 8) if quick else (100, 256)
    family = tabular_space(inputs, CLASSES, 3, (16, 64, 256) if quick else (64, 128, 256, 512))
    return family, torch.randn(4 * batch, inputs, generator=generator), batch


def new_search(work: str, quick: bool, workers: int, ranks: Workers) -> Search:
    """A search that trains random paths."""
    family, rows, batch = space_and_rows(work, quick)
    part = Part(rows, torch.arange(len(rows)) % CLASSES)
    task = Task("multiclass", "y", tuple(range(CLASSES)))
    supernet = family.supernet(0)
    streams = BatchStream(part, batch, 0), BatchStream(part, batch, 1)
    shared = VirtualWorkers(workers, ranks)
    probe = Probe(supernet, task.loss, *streams, part, workers=shared)
    strategy = strategy_spec("random").make(Problem(family.within({}), family.costs, 1, 0))
    recipe = TrainRecipe(batch_size=batch, optimizer="sgd", learning_rate=0.01)
    plan = Plan(warmup=0, joint=1_000_000, frozen=0)
    return Search(supernet, probe, strategy, recipe, plan, np.random.default_rng(0))


def take(search: Search, steps: int) -> tuple[float, list[float]]:
    """Seconds that so many weight steps take, and the CPU time of each."""
    begun, used = time.perf_counter(), [time.process_time()]
    for _ in range(steps):
        search.weight_step(Clock(search.step, search.plan.steps, "joint", search.step, 1_000_000))
        search.step += 1
        used.append(time.process_time())
    return time.perf_counter() - begun, np.diff(used).tolist()


def take_together(search: Search, steps: int) -> tuple[float, float]:
    """Seconds that so many steps take, and their CPU time: in each step the longer rank's."""
    search.ranks.barrier()
    seconds, used = take(search, steps)
    own = torch.tensor(used, dtype=torch.float64)
    all_used = search.ranks.gather(own, [steps] * search.ranks.size)
    return seconds, float(torch.stack(all_used).amax(0).sum())


def help_rounds(work: str, quick: bool, rounds: int, steps: int, ranks: Workers) -> None:
    """The other rank's part."""
    search = new_search(work, quick, SHARED, ranks)
    for _ in range(rounds + 1):
        take_together(search, steps)


def measured(work: str, quick: bool, rounds: int, paths: int) -> dict[str, Any]:
    """A row of the table."""
    import scale  # by its name: another process cannot find what is in a script that runs

    task = partial(scale.help_rounds, work, quick, rounds, paths // SHARED)
    spent: dict[str, list[float]] = {"1 thread": [], "2 threads": [], "2 ranks": []}
    used: list[float] = []
    with limited_threads(1), LocalRanks(2, 1, task) as ranks:
        one, other = (new_search(work, quick, 1, ONE) for _ in range(2))
        shared = new_search(work, quick, SHARED, ranks)
        for _ in range(rounds + 1):
            seconds, own = take(one, paths)
            spent["1 thread"].append(seconds)
            with limited_threads(2):
                spent["2 threads"].append(take(other, paths)[0])
            seconds, longer = take_together(shared, paths // SHARED)
            spent["2 ranks"].append(seconds)
            used.append(sum(own) / longer)
    for times in (*spent.values(), used):
        del times[0]  # the first makes room
    ratio = {
        name: median(base / own for base, own in zip(spent["1 thread"], times, strict=True))
        for name, times in spent.items()
    }
    return {
        "work": work,
        **{f"paths a second, {name}": paths / median(times) for name, times in spent.items()},
        "2 threads / 1": ratio["2 threads"],
        "2 ranks / 1": ratio["2 ranks"],
        "by CPU time": median(used),
        "kB a rank sends a step": sent_a_step(one) / 1000,
    }


def sent_a_step(search: Search) -> float:
    """Bytes of a path's gradients, the mean over some paths."""
    clock = Clock(0, 1, "joint", 0, 1)
    found = [search.supernet.blocks(search.strategy.sample(clock)) for _ in range(50)]
    return 4 * sum(math.prod(block) for blocks in found for block in blocks.values()) / len(found)


def weights_after(steps: dict[str, int], quick: bool, ranks: Workers) -> dict[str, str]:
    """SHA-1 of all shared weights after some steps of four workers; every rank does this."""
    found = {}
    for work, count in steps.items():
        search = new_search(work, quick, SHARED, ranks)
        take(search, count)
        digest = hashlib.sha1()
        for value in module_of(search.supernet).state_dict().values():
            digest.update(value.contiguous().numpy().tobytes())
        found[work] = digest.hexdigest()[:12]
    ranks.barrier()
    return found


def on_several(steps: dict[str, int], quick: bool) -> list[dict[str, Any]]:
    """Weights after the same searches on one, two and four ranks; quickly on one and two."""
    import scale

    task = partial(scale.weights_after, steps, quick)
    rows: list[dict[str, Any]] = [{"work": work, "steps": count} for work, count in steps.items()]
    sizes = (1, 2) if quick else (1, 2, 4)
    with limited_threads(1):
        for size in sizes:
            with LocalRanks(size, 1, task) as ranks:
                found = weights_after(steps, quick, ranks)
            for row in rows:
                row[f"SHA-1 on {size}"] = found[row["work"]]
    for row in rows:
        row["same"] = len({row[f"SHA-1 on {size}"] for size in sizes}) == 1
    return rows


@dataclass(frozen=True)
class Parts:
    """What the time of a step is made of, in seconds, and what it sends, in bytes.

    Attributes:
        alone: whole steps of single paths.
        draw: a path and a batch.
        add: adding the gradients of two paths.
        message: gradients of single paths.
        supernet: gradients of all shared weights.
    """

    alone: Sequence[float]
    draw: float
    add: float
    message: Sequence[float]
    supernet: float


@dataclass(frozen=True)
class Network:
    """Between ranks: seconds until a message arrives, and seconds that each byte takes."""

    wait: float
    byte: float


def parts_of(work: str, quick: bool, paths: int) -> Parts:
    """Measured on one process with one thread."""
    with limited_threads(1):
        search = new_search(work, quick, 1, ONE)
        take(search, max(2, paths // 10))  # makes room
        alone = []
        for _ in range(paths):
            alone.append(take(search, 1)[0])
        clock = Clock(search.step, search.plan.steps, "joint", search.step, 1_000_000)
        begun = time.perf_counter()
        for _ in range(paths):
            (batch,) = search.probe.train_batches()
            search._gates_and_batch(clock, batch)
        draw = (time.perf_counter() - begun) / paths
        blocks = [search.supernet.blocks(search.strategy.sample(clock)) for _ in range(paths)]
        message = [4.0 * sum(math.prod(block) for block in one.values()) for one in blocks]
        row = torch.ones(int(np.mean(message)) // 4)
        begun = time.perf_counter()
        for _ in range(paths):
            row = row + row
        add = (time.perf_counter() - begun) / paths
    whole = 4.0 * sum(param.numel() for param in module_of(search.supernet).parameters())
    return Parts(alone, draw, add, message, whole)


def largest_of(values: Sequence[float], draws: int) -> float:
    """What the largest of so many draws from these is on average."""
    below = np.arange(len(values) + 1) / len(values)
    return float(np.sort(values) @ np.diff(below**draws))


def simulated(parts: Parts, network: Network, ranks: int) -> dict[str, float]:
    """Milliseconds of a step of as many workers as ranks, by what takes them."""
    slowest, longest = largest_of(parts.alone, ranks), largest_of(parts.message, ranks)
    others, rounds = ranks - 1, math.ceil(math.log2(ranks))
    union = min(parts.supernet, ranks * float(np.mean(parts.message)))
    return {
        "compute": 1e3 * float(np.mean(parts.alone)),
        "wait for the slowest": 1e3 * (slowest - float(np.mean(parts.alone))),
        "draw for others": 1e3 * others * parts.draw,
        "gather": 1e3 * others * (network.wait + longest * network.byte),
        "add": 1e3 * others * parts.add,
        "a tree instead": 2e3 * rounds * (network.wait + union * network.byte),
    }


def step_ms(times: dict[str, float]) -> float:
    return sum(value for name, value in times.items() if name != "a tree instead")


def efficiency(parts: Parts, network: Network, ranks: int) -> float:
    """Path steps a second and rank, beside those of one rank."""
    return 1e3 * float(np.mean(parts.alone)) / step_ms(simulated(parts, network, ranks))


def simulation(work: str, quick: bool, paths: int, network: Network) -> list[dict[str, Any]]:
    """Rows for some numbers of ranks, and for the largest that is still worth half."""
    parts = parts_of(work, quick, paths)
    half = 1
    while half < MOST_SIMULATED and efficiency(parts, network, 2 * half) >= 0.5:
        half *= 2
    rows = []
    for ranks in sorted({*SIMULATED, half}):
        times = simulated(parts, network, ranks)
        rows.append(
            {
                "work": work,
                "ranks": ranks,
                **{f"{name}, ms": value for name, value in times.items()},
                "step, ms": step_ms(times),
                "paths a second": 1e3 * ranks / step_ms(times),
                "efficiency": efficiency(parts, network, ranks),
                "MB held": ranks * float(np.max(parts.message)) / 1e6,
            }
        )
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--paths", type=int, default=20, help="of each, in a turn; an even number")
    parser.add_argument("--simulate", action="store_true", help="measure one process alone")
    parser.add_argument("--gbit", type=float, default=10.0, help="a second, between ranks")
    parser.add_argument("--microseconds", type=float, default=50.0, help="until a message arrives")
    args = parser.parse_args()
    rounds, paths = (2, SHARED) if args.quick else (args.rounds, args.paths)
    several = {"cells": paths, "table": paths if args.quick else 10 * paths}
    network = Network(args.microseconds / 1e6, 8.0 / (args.gbit * 1e9))
    rows: list[dict[str, Any]] = []
    targets: list[Target] = []
    if not args.simulate:
        rows = [measured(work, args.quick, rounds, count) for work, count in several.items()]
        show("Path steps on one process and on two", rows)
        same = on_several(several, args.quick)
        show(f"Weights of {SHARED} workers on one, two and four ranks", same)
        cells = rows[0]["2 ranks / 1"]
        goal = f"cells: two ranks take at least {GOAL} times the path steps of one thread"
        targets.append(Target(goal, f"{cells:.2f}", cells >= GOAL))
        alike = all(row["same"] for row in same)
        targets.append(Target("the same weights on any number of ranks", str(alike), alike))
        rows += same
    steps = 4 if args.quick else 5 * paths
    computed = [row for work in several for row in simulation(work, args.quick, steps, network)]
    show(
        f"Computed: a step of as many workers as ranks, {args.gbit:g} Gbit/s and "
        f"{args.microseconds:g} us",
        computed,
    )
    return finish([*rows, *computed], targets, args)


if __name__ == "__main__":
    raise SystemExit(main())
