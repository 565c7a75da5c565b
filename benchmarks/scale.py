"""Path steps a second of a search on one process and on two.

A path step trains one path of the supernet on one batch. One process takes one a weight step, with
one thread or with two; two processes with a thread each take two a weight step, as virtual workers,
and exchange gradients. All take turns, a few steps each, so that whatever else the machine does
meets all of them; ratios are medians over these turns. Where others use the cores, wall-clock time
says little of two processes that wait for each other, so CPU time is told as well: a weight step of
two ranks counts as the longer one's.

    python benchmarks/scale.py --rounds 9 --json scale.json
"""

from __future__ import annotations

import math
import time
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
from meritnas.training.threads import limited_threads
from meritnas.workers.virtual import VirtualWorkers
from meritnas.workers.workers import ONE, Workers
from scoreboard import Target, arguments, finish, show

GOAL = 1.7
CLASSES = 10


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
    search = new_search(work, quick, 2, ranks)
    for _ in range(rounds + 1):
        take_together(search, steps)


def measured(work: str, quick: bool, rounds: int, paths: int) -> dict[str, Any]:
    """A row of the table."""
    import scale  # by its name: another process cannot find what is in a script that runs

    task = partial(scale.help_rounds, work, quick, rounds, paths // 2)
    spent: dict[str, list[float]] = {"1 thread": [], "2 threads": [], "2 ranks": []}
    used: list[float] = []
    with limited_threads(1), LocalRanks(2, 1, task) as ranks:
        one, other = (new_search(work, quick, 1, ONE) for _ in range(2))
        shared = new_search(work, quick, 2, ranks)
        for _ in range(rounds + 1):
            seconds, own = take(one, paths)
            spent["1 thread"].append(seconds)
            with limited_threads(2):
                spent["2 threads"].append(take(other, paths)[0])
            seconds, longer = take_together(shared, paths // 2)
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


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--paths", type=int, default=20, help="of each, in a turn; an even number")
    args = parser.parse_args()
    rounds, paths = (2, 2) if args.quick else (args.rounds, args.paths)
    rows = [
        measured("cells", args.quick, rounds, paths),
        measured("table", args.quick, rounds, paths if args.quick else 10 * paths),
    ]
    show("Path steps on one process and on two", rows)
    cells = rows[0]["2 ranks / 1"]
    goal = f"cells: two ranks take at least {GOAL} times the path steps of one thread"
    return finish(rows, [Target(goal, f"{cells:.2f}", cells >= GOAL)], args)


if __name__ == "__main__":
    raise SystemExit(main())
