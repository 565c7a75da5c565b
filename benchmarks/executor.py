"""Trainings and runs that do not depend on each other, one after the other and two at a time.

First `compare`: the same strategies and seeds one after the other, by two processes of this
machine, and by a local Ray cluster of two, where Ray is installed. All must come to the same table,
seconds aside. Then the trainings of two plain networks for images, which is what most time of a
search for images goes into: one after the other with one thread and with two, and at the same time
with a thread each. These take turns, so that whatever else the machine does meets all of them;
ratios are medians over turns. Where others use the cores, two processes get more of them than one,
so CPU time is told as well: both trainings by one process against the longer one of two. Processes
are started before all turns: what that takes is a row of its own.

    python benchmarks/executor.py digits --turns 5 --json executor.json
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

import meritnas
from meritnas import LocalProcesses, RayWorkers, Retraining, RunOptions, Tabular, convnet_space
from meritnas.data.bundle import Bundle, Part
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.task import Task
from meritnas.settings.recipe import TrainRecipe
from meritnas.tasks.crew import Alone, Crew, Hired, all_do
from meritnas.tasks.task import Material
from meritnas.training.epoch_time import EpochTime
from meritnas.training.one_training import Ground, OneTraining
from meritnas.training.race import Training
from scoreboard import Target, arguments, finish, show

GOAL = 1.5
CLASSES = 10
RECIPE = TrainRecipe(batch_size=32)


@contextmanager
def workers(name: str, known: LocalProcesses | None) -> Iterator[Executor | None]:
    """Who does the runs of a comparison: processes that are there, or fresh ones."""
    if name == "one":
        yield None
    elif name == "two processes" and known is not None:
        yield known
    elif name == "two processes":
        with LocalProcesses(2) as processes:
            yield processes
    else:
        with RayWorkers("local", 2) as ray:
            yield ray


def compared(
    name: str, args: Any, known: LocalProcesses | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A row of the table of times, and the comparison's own table, without seconds."""
    small = {"space": Tabular(layers=2, widths=(4, 8)), "retraining": Retraining(epochs=2, seeds=1)}
    asked: dict[str, Any] = {"max_params": 4000, "epochs": args.epochs}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with workers(name, known) as executor:
            found = meritnas.compare(
                args.data,
                args.target,
                strategies=args.strategies.split(","),
                seeds=args.seeds,
                out=Path(folder) / "runs",
                executor=executor,
                run=RunOptions(threads=1),
                **({**small, "epochs": 1} if args.quick else asked),
            )
        seconds = time.perf_counter() - begun
    table = found.table.drop(columns="seconds").to_dict("records")
    row = {"work": f"compare, {len(found.runs)} runs", "by": name, "seconds": seconds}
    return row, [{str(key): repr(value) for key, value in each.items()} for each in table]


def comparisons(args: Any, known: LocalProcesses | None) -> tuple[list[dict[str, Any]], bool]:
    """All ways to compare, and whether they came to the same."""
    names = ["one", "two processes"]
    if importlib.util.find_spec("ray") is None:
        print("Ray is not installed: left out")
    else:
        names.append("Ray, two workers")
    rows, tables = [], []
    for name in names:
        row, table = compared(name, args, known)
        rows.append(row)
        tables.append(table)
    for row in rows:
        row["times as fast"] = rows[0]["seconds"] / row["seconds"]
    return rows, all(table == tables[0] for table in tables)


def image_ground(quick: bool, images: int) -> tuple[Ground, tuple[str, ...]]:
    """Networks for images, two plain ones of them, and images of noise."""
    size, count, most = (8, 64, 5_000) if quick else (28, images, 100_000)
    generator = torch.Generator().manual_seed(0)

    def part(rows: int) -> Part:
        images = torch.randn(rows, 1, size, size, generator=generator)
        return Part(
            images.contiguous(memory_format=torch.channels_last), torch.arange(rows) % CLASSES
        )

    family = convnet_space(CLASSES, image=(1, size, size))
    task = Task("multiclass", "class", tuple(range(CLASSES)))
    encoder: Any = ImageEncoder
    bundle: Bundle[Any] = Bundle(
        "noise", part(count), part(count // 8), part(count // 8), encoder, task
    )
    plain = tuple(one.text for one in family.plain({"params": most}))
    return Ground(family, bundle), (plain * 2)[:2]


@dataclass(frozen=True)
class Timed(OneTraining):
    """A training of which the CPU time is told."""

    def __call__(self, material: Ground, tell: Any) -> Any:
        begun = time.process_time()
        super().__call__(material, tell)
        return time.process_time() - begun


def trained(
    crew: Crew, ground: Material, texts: tuple[str, ...], epochs: int, threads: int
) -> tuple[float, list[float]]:
    """Seconds that the trainings of some networks take, and the CPU time of each."""
    tasks = [
        Timed(Training(text, 0.0, 0, epochs), RECIPE, epochs, threads=threads) for text in texts
    ]
    begun, used = time.perf_counter(), []
    for one in range(0, len(tasks), crew.size):
        some = tasks[one : one + crew.size]
        for task in some:
            crew.begin(task, ground, lambda _: None)
        used += [crew.wait()[1] for _ in some]
    return time.perf_counter() - begun, used


def races(args: Any, processes: LocalProcesses) -> list[dict[str, Any]]:
    """Ways to train two networks for images."""
    found, texts = image_ground(args.quick, args.images)
    ground, epochs = Material(found), 1 if args.quick else args.epochs_of_images
    spent: dict[str, list[float]] = {}
    by_cpu: list[float] = []
    begun = time.perf_counter()
    two = Hired(processes, 1)
    all_do(two, EpochTime(texts[0], 0.0, RECIPE, 0.0, 1), ground)
    starting = time.perf_counter() - begun
    ways: dict[str, tuple[Crew, int]] = {
        "one, 1 thread": (Alone(), 1),
        "one, 2 threads": (Alone(), 2),
        "two processes, 1 thread each": (two, 1),
    }
    for _ in range(1 if args.quick else args.turns):
        used = {}
        for name, (crew, threads) in ways.items():
            took, used[name] = trained(crew, ground, texts, epochs, threads)
            spent.setdefault(name, []).append(took)
        longer = max(used["two processes, 1 thread each"])
        by_cpu.append(sum(used["one, 1 thread"]) / longer)
    first = spent["one, 1 thread"]
    rows: list[dict[str, Any]] = [
        {
            "work": "two trainings, images",
            "by": name,
            "seconds": median(times),
            "times as fast": median(a / b for a, b in zip(first, times, strict=True)),
        }
        for name, times in spent.items()
    ]
    rows[-1]["by CPU time"] = median(by_cpu)
    return [*rows, {"work": "two trainings, images", "by": "starting two", "seconds": starting}]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="digits")
    parser.add_argument("--target")
    parser.add_argument("--strategies", default="tabnas,random,evolution")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--epochs-of-images", type=int, default=3)
    parser.add_argument("--images", type=int, default=2_000)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    if args.quick:
        args.strategies, args.seeds = "random,tabnas", 1
    with LocalProcesses(2) as processes:
        rows, same = comparisons(args, processes if args.quick else None)
        rows += races(args, processes)
    show("One after the other, and two at a time", rows)
    by = {row["by"]: row["seconds"] for row in rows if "images" in row["work"]}
    best = min(by["one, 1 thread"], by["one, 2 threads"])
    gain = best / by["two processes, 1 thread each"]
    goal = f"two networks for images: two processes at least {GOAL} times as fast as one"
    if not same:
        print("the tables are NOT the same")
        return 1
    return finish(
        rows,
        [
            Target("all comparisons come to the same table", "the same", met=True),
            Target(goal, f"{gain:.2f}", gain >= GOAL),
        ],
        args,
    )


if __name__ == "__main__":
    raise SystemExit(main())
