"""What a build function costs: a search step in its space against the hand-written family's.

Both search the same networks for tables: linear layers with a norm and a ReLU, whose widths are
searched by `tabnas` under the same limit. A step is what a search does in its joint phase: the
strategy learns from a batch, then the weights of a path are trained on another. Steps are taken in
turns, so that a slow moment of the machine hits both sides.

    nice -n 19 python benchmarks/own_step.py --threads 1 --json own_step.json
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

import meritnas.nn as mn
from meritnas import PAPER_WIDTHS, space_of, tabular_space
from meritnas.data.stream import BatchStream
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.families.family import Family
from meritnas.prepare.ground import make_ground
from meritnas.settings.recipe import TrainRecipe
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe
from scoreboard import Target, arguments, finish, show
from tabular_step import CHILD, SHAPES, TASK, made_data

MOST = 1.15
BLOCK = 10


QUICK = (24, 32, 144)


def layers(pick: mn.Pick, inputs: Any, outputs: int, *, widths: Sequence[int]) -> nn.Module:
    parts: list[nn.Module] = []
    for number in range(1, 4):
        width = pick.width(f"layer{number}", *widths)
        norm = mn.LayerNorm(width, elementwise_affine=False)
        parts += [mn.Linear(inputs, width), norm, nn.ReLU()]
        inputs = width
    return nn.Sequential(*parts, mn.Linear(inputs, outputs))


def make(family: Family, limit: int, inputs: int, batch: int) -> Search:
    train, valid = made_data(inputs)
    ground = make_ground(family, {"params": limit})
    plan = Plan(0, 10**6, 0)
    problem = Problem(ground.searched_feasible, ground.searched.costs, plan.joint, 0)
    strategy = strategy_spec("tabnas").make(problem)
    supernet = ground.searched.supernet()
    seen, judged = BatchStream(train, batch, 0), BatchStream(valid, batch, 0)
    probe = Probe(supernet, TASK.loss, seen, judged, valid)
    recipe = TrainRecipe(batch_size=batch)
    return Search(supernet, probe, strategy, recipe, plan, np.random.default_rng(0))


def compared(inputs: int, batch: int, turns: int, widths: Sequence[int]) -> dict[str, Any]:
    written = tabular_space(inputs, 1, 3, widths)
    limit = written.cost(CHILD)
    built = space_of(layers, inputs, 1, options={"widths": tuple(widths)})
    begin = time.perf_counter()
    assert built.cost(CHILD) == limit
    assert built.feasible(max_params=limit).count() == written.feasible(max_params=limit).count()
    finding = time.perf_counter() - begin
    searches = {
        "written": make(written, limit, inputs, batch),
        "built": make(built, limit, inputs, batch),
    }
    clocks = {side: search.plan.clocks(0) for side, search in searches.items()}
    spent: dict[str, list[float]] = {side: [] for side in searches}
    for _ in range(turns):
        for side, search in searches.items():
            begin = time.perf_counter()
            for _ in range(BLOCK):
                clock = next(clocks[side])
                search.strategy.update(search.probe, clock)
                search.weight_step(clock)
            spent[side].append((time.perf_counter() - begin) / BLOCK)
    pairs = np.array([spent["built"], spent["written"]])[:, turns // 5 :]
    return {
        "inputs": inputs,
        "batch": batch,
        "written_us": 1e6 * float(np.median(pairs[1])),
        "built_us": 1e6 * float(np.median(pairs[0])),
        "ratio": float(np.median(pairs[0] / pairs[1])),
        "builds": built.builds,
        "costs_and_set_s": finding,
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=80, help="blocks of ten steps a side")
    parser.add_argument("--threads", type=int, default=1, help="of both sides")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    shapes = SHAPES[2:] if args.quick else SHAPES
    turns, widths = (3, QUICK) if args.quick else (args.turns, PAPER_WIDTHS)
    rows = [compared(inputs, batch, turns, widths) for inputs, batch in shapes]
    show("a search step of a build function's space against the hand-written one", rows)
    targets = [
        Target(
            f"{row['inputs']} inputs, batch {row['batch']}: at most {MOST} times",
            f"{row['ratio']:.3f}",
            row["ratio"] <= MOST,
        )
        for row in rows
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
