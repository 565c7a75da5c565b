"""Memory of a search over cells that are all different: `manas` against `darts`.

    python benchmarks/manas_memory.py --json memory.json

On the space `darts-unique`, where every cell has its own operations: the bytes that autograd keeps
for the way back (each storage once; the larger of what the agents' or alpha's part of a step and
that of the weights keep; the median over steps, each with another path), and the most memory of the
process beyond what it had after its imports and data, over a few whole search steps. Every case
has a process of its own. MANAS' paper says that one path takes an eighth.

The last cases are searches of 20 cells: a few steps of `manas`, and of `darts` where its peak at
the smaller size, times as much as there are more cells, fits into `--most-gb`; else its target is
not judged. A line tells how long a regression for that many agents takes.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch

from memory_and_speed import MEGABYTE, RECIPE, TASK, Sizes, most_memory, saved_bytes
from meritnas import darts_space
from meritnas.credit.least_squares import LeastSquares
from meritnas.data.stream import BatchStream
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.families.darts.family import DartsSpace
from meritnas.strategy.algorithms.manas_linear import PSEUDO_DRAWS
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe
from scoreboard import Target, arguments, finish, show

STRATEGIES = ("manas", "manas-ls", "darts")
GOAL = 6.0
_MANY = 20


@dataclass(frozen=True)
class Case:
    """What one process measures."""

    strategy: str
    sizes: Sizes
    steps: int

    def family(self) -> DartsSpace:
        image = (3, self.sizes.side, self.sizes.side)
        return darts_space(10, self.sizes.channels, self.sizes.cells, "unique", image)


def measure(case: Case) -> dict[str, Any]:
    """Some search steps, in this process."""
    data, family = case.sizes.data(), case.family()
    torch.nn.functional.conv2d(data.inputs[:1], torch.zeros(1, 3, 3, 3))  # wakes the library up
    before = most_memory()
    supernet = family.supernet()
    train, valid = (BatchStream(data, case.sizes.batch, seed) for seed in (0, 1))
    probe = Probe(supernet, TASK.loss, train, valid, data, TASK.score)
    problem = Problem(
        family.feasible(), {}, 10**4, 0, nodes=family.nodes, chance_loss=TASK.chance_loss
    )
    strategy = strategy_spec(case.strategy).make(problem)
    plan = Plan(0, case.steps, case.steps if strategy.turns.phase == "frozen" else 0)
    search = Search(supernet, probe, strategy, RECIPE, plan, np.random.default_rng(0))
    saved: list[int] = []
    for clock in plan.clocks(0):
        halves: list[Callable[[], object]] = []
        if clock.phase == strategy.turns.phase:
            halves.append(functools.partial(strategy.update, probe, clock))
        if clock.phase == "joint":
            halves.append(functools.partial(search.weight_step, clock))
        kept = max(saved_bytes(half) for half in halves)
        if clock.phase == "joint":
            saved.append(kept)
    return {
        "strategy": case.strategy,
        "cells": case.sizes.cells,
        "agents": len(family.space.decisions),
        "saved_mb": round(median(saved) / MEGABYTE, 2),
        "peak_mb": round((most_memory() - before) / MEGABYTE, 1),
    }


def in_own_process(case: Case, threads: int) -> dict[str, Any]:
    sizes = case.sizes
    given = {
        "--case": case.strategy, "--channels": sizes.channels, "--cells": sizes.cells,
        "--batch": sizes.batch, "--side": sizes.side, "--steps": case.steps, "--threads": threads,
    }  # fmt: skip
    flags = [str(part) for pair in given.items() for part in pair]
    done = subprocess.run(
        [sys.executable, __file__, *flags], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{case.strategy} failed: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def estimate_time(agents: int) -> str:
    """Of a regression for agents of 8 options each, two losses for an option, 8 on a batch."""
    rng = np.random.default_rng(0)
    regression = LeastSquares((8,) * agents, PSEUDO_DRAWS)
    begun = time.perf_counter()
    for _ in range(2 * agents):
        regression.add(rng.integers(8, size=(8, agents)), rng.random(8))
    collected = time.perf_counter()
    regression.solve()
    solved = time.perf_counter()
    return (
        f"{agents} agents: {16 * agents:,} losses are taken in within {collected - begun:.2f} s, "
        f"the regression is solved within {solved - collected:.2f} s"
    )


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--side", type=int, default=32, help="of the images in pixels")
    parser.add_argument("--steps", type=int, default=8, help="of each search")
    parser.add_argument("--most-gb", type=float, default=14.0, help="that a case may take")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--case", choices=STRATEGIES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.channels, args.cells, args.batch, args.side, args.steps = 4, 1, 4, 8, 1
    torch.set_num_threads(args.threads)
    sizes = Sizes(args.channels, args.cells, args.batch, args.side)
    if args.case:
        print(json.dumps(measure(Case(args.case, sizes, args.steps))))
        return 0
    run = measure if args.quick else lambda case: in_own_process(case, args.threads)
    rows = [run(Case(name, sizes, args.steps)) for name in STRATEGIES[:: 2 if args.quick else 1]]
    many = Sizes(args.channels, 2 if args.quick else _MANY, args.batch, args.side)
    rows.append(run(Case("manas", many, args.steps)))
    # Peaks grow with cells about in proportion.
    if rows[-2]["peak_mb"] / 1e3 * many.cells / sizes.cells <= args.most_gb:
        rows.append(run(Case("darts", many, min(2, args.steps))))
    print(estimate_time(14 * many.cells))
    show(f"channels {args.channels}, batch {args.batch}, {args.side} pixels each way", rows)
    return finish(rows, targets(rows), args)


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    found = {(row["strategy"], row["cells"]): row for row in rows}
    few, many = min(row["cells"] for row in rows), max(row["cells"] for row in rows)
    ratio = found["darts", few]["saved_mb"] / found["manas", few]["saved_mb"]
    targets = [
        Target(
            f"{few} cells: `manas` saves at most 1/{GOAL:g} of what `darts` does",
            f"1/{ratio:.1f}",
            ratio >= GOAL,
        )
    ]
    text = f"{many} cells: `darts` takes at least 3 times the memory of `manas`"
    if ("darts", many) not in found:
        return [*targets, Target(text, "`darts` would not fit into --most-gb", None)]
    peaks = found["darts", many]["peak_mb"] / max(0.1, found["manas", many]["peak_mb"])
    return [*targets, Target(text, f"{peaks:.1f}", peaks >= 3)]


if __name__ == "__main__":
    sys.exit(main())
