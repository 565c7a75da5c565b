"""What weight sharing costs: a weight step, and a whole search, against the child trained alone.

Step: one training step of 32-144-24 inside the 512-wide supernet against the same step of the
stand-alone network, taken in turns. Search: a whole `tabnas` search (warm-up, weight steps, policy
steps, final choice) under the parameter count of 32-144-24 as its limit, against training the
network it found alone with as many weight steps. Both sides use the same data, batch size,
optimiser and threads.

    python benchmarks/tabular_step.py --steps 3000 --json step.json
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.data.task import Task
from meritnas.engine.loop import Search, run_search
from meritnas.engine.plan import Plan, make_plan
from meritnas.families.tabular.family import TabularSpace
from meritnas.prepare.ground import make_ground
from meritnas.settings.recipe import TrainRecipe, default_threads
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.strategy.turns import WITH_WEIGHTS
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe
from meritnas.training.train import make_optimizer
from scoreboard import Target, arguments, finish, show

SHAPES = ((1027, 512), (84, 512), (84, 32))
CHILD = "32-144-24"
TASK = Task("binary", "y", (0, 1))


def made_data(inputs: int, rows: int = 20_480) -> tuple[Part, Part]:
    """Numbers whose class a small random network decides, with noise."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, inputs, generator=generator)
    hidden = torch.relu(x @ torch.randn(inputs, 8, generator=generator) / inputs**0.5)
    score = hidden @ torch.randn(8, generator=generator)
    noise = 0.3 * torch.randn(rows, generator=generator)
    y = (score - score.median() + noise > 0).float()
    cut = rows * 4 // 5
    return Part(x[:cut], y[:cut]), Part(x[cut:], y[cut:])


class ChildAlone:
    """A stand-alone network and its training step."""

    def __init__(self, family: TabularSpace, child: Architecture, train: Part, recipe: TrainRecipe):
        self.module = family.child(child)
        self.optimizer = make_optimizer(self.module, recipe)
        self.stream = BatchStream(train, recipe.batch_size, 0)

    def step(self) -> None:
        batch = self.stream.next()
        self.optimizer.zero_grad(set_to_none=True)
        TASK.loss(self.module(batch.inputs), batch.target).backward()
        self.optimizer.step()


class FixedPath:
    """Stands where a strategy stands: always the same path."""

    def __init__(self, gates: Gates) -> None:
        self.gates = gates

    def sample(self, clock: Clock) -> Gates:
        del clock
        return self.gates


def make(
    family: TabularSpace, strategy: Any, plan: Plan, data: tuple[Part, Part], recipe: TrainRecipe
) -> Search:
    supernet = family.supernet()
    train, valid = (BatchStream(part, recipe.batch_size, 0) for part in data)
    probe = Probe(supernet, TASK.loss, train, valid, data[1])
    return Search(supernet, probe, strategy, recipe, plan, np.random.default_rng(0))


def time_steps(inputs: int, batch: int, turns: int) -> dict[str, Any]:
    family = tabular_space(inputs, 1, 3)
    data = made_data(inputs)
    recipe = TrainRecipe(batch_size=batch)
    child = family.parse(CHILD)
    alone = ChildAlone(family, child, data[0], recipe)
    gates = one_path(family.space.picks(child))
    shared = make(family, FixedPath(gates), Plan(0, 10**6, 0), data, recipe)
    clocks = shared.plan.clocks(0)
    spent: dict[str, list[float]] = {"alone": [], "shared": []}
    for _ in range(turns):  # in turns, so that a slow moment of the machine hits both sides
        for side in spent:
            begin = time.perf_counter()
            for _ in range(10):
                if side == "alone":
                    alone.step()
                else:
                    shared.weight_step(next(clocks))
            spent[side].append((time.perf_counter() - begin) / 10)
    micros = {side: 1e6 * float(np.median(times[turns // 5 :])) for side, times in spent.items()}
    return {
        "what": "step",
        "inputs": inputs,
        "batch": batch,
        "alone": micros["alone"],
        "shared": micros["shared"],
        "unit": "us",
        "ratio": micros["shared"] / micros["alone"],
    }


def time_search(inputs: int, batch: int, steps: int, draws: str) -> dict[str, Any]:
    family = tabular_space(inputs, 1, 3)
    data = made_data(inputs)
    recipe = TrainRecipe(batch_size=batch)
    limits = {"params": family.cost(CHILD)}
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder) / "run", {})
        begin = time.perf_counter()
        ground = make_ground(family, limits)
        plan = make_plan(steps, WITH_WEIGHTS, 1)
        problem = Problem(ground.searched_feasible, ground.searched.costs, plan.joint, 0)
        strategy = strategy_spec("tabnas", {"weight_draws": draws}).make(problem)
        assert isinstance(ground.searched, TabularSpace)
        search = make(ground.searched, strategy, plan, data, recipe)
        found = run_search(search, store, lambda _: None)[0]
        searching = time.perf_counter() - begin
    alone = ChildAlone(family, found, data[0], recipe)
    begin = time.perf_counter()
    for _ in range(steps):
        alone.step()
    training = time.perf_counter() - begin
    return {
        "what": f"search, weights drawn from {draws}",
        "inputs": inputs,
        "batch": batch,
        "alone": training,
        "shared": searching,
        "unit": "s",
        "ratio": searching / training,
        "found": str(found),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=3000, help="weight steps of a search")
    parser.add_argument("--turns", type=int, default=60, help="blocks of ten steps a side")
    parser.add_argument("--threads", type=int, help="of both sides; as a search chooses them")
    args = parser.parse_args()
    steps, turns = (60, 2) if args.quick else (args.steps, args.turns)
    shapes = SHAPES[2:] if args.quick else SHAPES
    rows = []
    chosen = {
        inputs * batch: default_threads(inputs * batch) or torch.get_num_threads()
        for inputs, batch in shapes
    }
    for inputs, batch in shapes:
        threads = args.threads or chosen[inputs * batch]
        torch.set_num_threads(threads)
        found = [time_steps(inputs, batch, turns)]
        found += [time_search(inputs, batch, steps, draws) for draws in ("policy", "feasible")]
        rows += [{**row, "threads": threads} for row in found]
    show("weight sharing against the child alone", rows)
    targets = []
    for row in rows:
        most = 1.5 if row["what"] == "step" else 3.0
        if row["what"].endswith("feasible"):
            continue  # the option beside it; the target is for the default
        text = f"{row['what']}, {row['inputs']} inputs, batch {row['batch']}: at most {most}"
        targets.append(Target(text, f"{row['ratio']:.2f}", row["ratio"] <= most))
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
