"""Memory and time of a search step: one path (`advantage`) against all options (`darts`).

Memory: what a search step takes on the supernet of DARTS' space, and what a training step takes of
the children of the same paths, as large as the supernet. Bytes that autograd keeps for the way
back (each storage once), and the most memory of the process beyond what it had after its imports
and data; every case has a process of its own.

Time: one search step of `advantage` (weights, then policy) against two plain training steps, one
of each drawn path's own child, with the same sizes, batch and optimiser, taken in turns.

    python benchmarks/memory_and_speed.py --json memory.json
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas import darts_space
from meritnas.clock import Clock
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.data.task import Task
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.families.darts.family import DartsSpace
from meritnas.policy.laws import Draw, Law
from meritnas.policy.policy import Policy
from meritnas.settings.recipe import TrainRecipe
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy
from meritnas.supernet.gates import Gates
from meritnas.supernet.probe import Probe
from meritnas.training.train import make_optimizer
from scoreboard import Target, arguments, finish, show

MOST_MEMORY = 1.3
MOST_TIME = 1.15
CASES = ("child", "advantage", "darts")
CLASSES = 10
TASK = Task("multiclass", "label", tuple(range(CLASSES)))
RECIPE = TrainRecipe(
    "sgd",
    learning_rate=0.025,
    weight_decay=3e-4,
    decay="gradient",
    clip=5.0,
    dropout=0.0,
    averaging=0.0,
)
MEGABYTE = 1e6
_WARM = 3


@dataclass(frozen=True)
class Sizes:
    """Of supernet and children alike."""

    channels: int
    cells: int
    batch: int
    side: int

    def family(self) -> DartsSpace:
        image = (3, self.side, self.side)
        return darts_space(CLASSES, self.channels, self.cells, image=image)

    def data(self) -> Part:
        generator = torch.Generator().manual_seed(0)
        rows = 4 * self.batch
        images = torch.randn(rows, 3, self.side, self.side, generator=generator)
        labels = torch.randint(CLASSES, (rows,), generator=generator)
        return Part(images.contiguous(memory_format=torch.channels_last), labels)


class Recorded:
    """A law that remembers what it drew last."""

    def __init__(self, law: Law) -> None:
        self._law = law
        self.picks: list[int] = []

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        drawn = self._law.draw(policy, n, rng)
        self.picks = drawn.picks[0].tolist()
        return drawn


class Always:
    """A law that draws one path, at the cost of the law that it stands for."""

    def __init__(self, picks: list[int], law: Law) -> None:
        self._picks = picks
        self._law: Law = law._law if isinstance(law, Always) else law

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        drawn = self._law.draw(policy, n, rng)
        return Draw(np.tile(self._picks, (n, 1)), drawn.center, drawn.probability)


class Watched:
    """A strategy that remembers what it sampled last."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.gates: Gates = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def sample(self, clock: Clock) -> Gates:
        self.gates = self._strategy.sample(clock)
        return self.gates


class Shared:
    """A search, one step at a time."""

    def __init__(self, sizes: Sizes, strategy: str, data: Part) -> None:
        self.family = sizes.family()
        supernet = self.family.supernet()
        train, valid = (BatchStream(data, sizes.batch, seed) for seed in (0, 1))
        probe = Probe(supernet, TASK.loss, train, valid, data)
        plan = Plan(0, 10**6, 0)
        problem = Problem(
            self.family.feasible(), self.family.costs, plan.joint, 0, nodes=self.family.nodes
        )
        self.strategy = strategy_spec(strategy).make(problem)
        self._watched: Any = Watched(self.strategy)
        rng = np.random.default_rng(0)
        self.search = Search(supernet, probe, self._watched, RECIPE, plan, rng)
        self._clocks = plan.clocks(0)
        self.drawn: list[list[int]] = [[], []]  # for the weights, for the policy
        self._law: Recorded | None = None
        if isinstance(self.strategy, PolicyGradient):
            self._law = self.strategy.law = Recorded(self.strategy.law)

    def policy_step(self, clock: Clock) -> None:
        self.strategy.update(self.search.probe, clock)
        if self._law is not None:
            self.drawn[1] = self._law.picks

    def pin(self, picks: list[int]) -> None:
        """Draw this path and no other from now on."""
        assert isinstance(self.strategy, PolicyGradient)
        self.strategy.law = self.strategy.weight_law = Always(picks, self.strategy.weight_law)
        self.strategy._paths.clear()
        self._law = None

    def weight_step(self, clock: Clock) -> None:
        self.search.weight_step(clock)
        self.drawn[0] = [gate.active[0] for gate in self._watched.gates]

    def step(self) -> None:
        clock = next(self._clocks)
        self.policy_step(clock)
        self.weight_step(clock)

    def halves(self) -> tuple[Callable[[], None], Callable[[], None]]:
        clock = next(self._clocks)
        return lambda: self.policy_step(clock), lambda: self.weight_step(clock)


class Alone:
    """A child and its training step, as `train_child` takes it."""

    def __init__(self, family: DartsSpace, picks: list[int], stream: BatchStream) -> None:
        self.module = family.child(family.space.architecture(picks))
        self.optimizer = make_optimizer(self.module, RECIPE)
        self.parameters = list(self.module.parameters())
        self.stream = stream

    def step(self) -> None:
        batch = self.stream.next()
        self.optimizer.zero_grad(set_to_none=True)
        loss = TASK.loss(self.module(batch.inputs), batch.target, batch.weights)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, RECIPE.clip or 0.0)
        self.optimizer.step()
        loss.detach()


def saved_bytes(step: Callable[[], object]) -> int:
    """What autograd keeps for the way back in a step with one pass forward and one back."""
    sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        step()
    return sum(sizes.values())


def most_memory() -> float:
    """The most bytes that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def measure(case: str, sizes: Sizes, paths: int) -> dict[str, Any]:
    """Memory and time of one case, in this process.

    The paths are those that `advantage` draws from its first policy, in every case that has any.
    """
    data = sizes.data()
    family = sizes.family()
    rows = [np.zeros(size) for size in family.space.sizes]
    drawn = family.feasible().sample(rows, n=paths, seed=0)
    torch.nn.functional.conv2d(data.inputs[:1], torch.zeros(1, 3, 3, 3))  # wakes the library up
    before = most_memory()
    saved: list[int] = []
    spent: list[float] = []
    if case == "child":
        stream = BatchStream(data, sizes.batch, 0)
        for architecture in drawn:
            alone = Alone(family, list(family.space.picks(architecture)), stream)
            saved.append(saved_bytes(alone.step))
            begun = time.perf_counter()
            alone.step()
            spent.append(time.perf_counter() - begun)
    else:
        shared = Shared(sizes, case, data)
        for architecture in drawn:
            if case == "advantage":
                shared.pin(list(family.space.picks(architecture)))
            saved.append(max(saved_bytes(half) for half in shared.halves()))
            begun = time.perf_counter()
            shared.step()
            spent.append(time.perf_counter() - begun)
    return {
        "case": case,
        "saved": saved,
        "peak": most_memory() - before,
        "seconds": float(np.median(spent)),
    }


def time_pairs(sizes: Sizes, pairs: int) -> list[dict[str, float]]:
    """Seconds of search steps, and of the training steps of their paths' children."""
    data = sizes.data()
    shared = Shared(sizes, "advantage", data)
    stream = BatchStream(data, sizes.batch, 0)
    found = []
    for number in range(pairs + _WARM):
        searching = _seconds(shared.step)
        children = [Alone(shared.family, picks, stream) for picks in shared.drawn]
        for child in children:
            child.step()  # its first step makes room for momentum
        training = sum(_seconds(child.step) for child in children)
        if number >= _WARM:
            found.append({"search": searching, "train": training})
    return found


def _seconds(step: Callable[[], None]) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def in_own_process(case: str, args: argparse.Namespace) -> dict[str, Any]:
    names = ("channels", "cells", "batch", "side", "paths", "threads")
    given = [part for name in names for part in (f"--{name}", str(getattr(args, name)))]
    done = subprocess.run(
        [sys.executable, __file__, "--case", case, *given],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{case} failed: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--channels", type=int, default=16, help="of supernet and children")
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--side", type=int, default=32, help="of the images in pixels")
    parser.add_argument("--paths", type=int, default=8, help="whose memory is measured")
    parser.add_argument("--pairs", type=int, default=60, help="of steps whose time is measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.channels, args.cells, args.batch, args.side = 4, 3, 4, 8
        args.paths, args.pairs = 1, 1
    torch.set_num_threads(args.threads)
    sizes = Sizes(args.channels, args.cells, args.batch, args.side)
    if args.case:
        print(json.dumps(measure(args.case, sizes, args.paths)))
        return 0
    cases = {
        case: measure(case, sizes, args.paths) if args.quick else in_own_process(case, args)
        for case in CASES
    }
    pairs = time_pairs(sizes, args.pairs)
    rows: list[dict[str, Any]] = []
    for case, found in cases.items():
        kept = [own / one for own, one in zip(found["saved"], cases["child"]["saved"], strict=True)]
        rows.append(
            {
                "step": "training, child" if case == "child" else f"search, {case}",
                "saved MB": float(np.median(found["saved"])) / MEGABYTE,
                "saved ratio": float(np.median(kept)),
                "peak MB": found["peak"] / MEGABYTE,
                "peak ratio": found["peak"] / max(1.0, cases["child"]["peak"]),
                "ms": 1e3 * found["seconds"],
            }
        )
    ratios = [pair["search"] / pair["train"] for pair in pairs]
    rows.append(
        {
            "step": "search, advantage, against two of training",
            "ms": 1e3 * float(np.median([pair["search"] for pair in pairs])),
            "training ms": 1e3 * float(np.median([pair["train"] for pair in pairs])),
            "time ratio": float(np.median(ratios)),
            "quartiles": [round(float(q), 3) for q in np.quantile(ratios, (0.25, 0.75))],
        }
    )
    setting = {**vars(sizes), "threads": args.threads}
    show(", ".join(f"{name} {value}" for name, value in setting.items()), rows)
    rows = [{**row, **setting} for row in rows]
    one_path, timed = rows[CASES.index("advantage")], rows[-1]
    targets = [
        Target(
            f"{name} of a one-path search step: at most {most} times that of training",
            f"{row[column]:.3f}",
            row[column] <= most,
        )
        for name, row, column, most in (
            ("what is saved for backward", one_path, "saved ratio", MOST_MEMORY),
            ("peak memory", one_path, "peak ratio", MOST_MEMORY),
            ("time", timed, "time ratio", MOST_TIME),
        )
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
