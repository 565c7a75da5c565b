"""Evaluations of coalitions a second: options that are gone are not run, what stays is kept.

    python benchmarks/shapley_speed.py --json speed.json

The plain way runs the whole supernet with the weights of absent options set to zero. Both ways go
through the same permutation on the same batch, in turns, whole and up to half its depth, on the
supernets of NAS-Bench-201 (24 players) and of DARTS (196), on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas import darts_space, nasbench201_space
from meritnas.credit.supernet_game import Players, SupernetGame, players_of
from meritnas.data.bundle import Part
from meritnas.data.stream import Batch, BatchStream
from meritnas.data.task import Task
from meritnas.supernet.gates import Gate, Gates
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Supernet
from scoreboard import Target, arguments, finish, show

TASK = Task("multiclass", "label", tuple(range(10)))
GOALS = {"whole": 1.8, "half": 1.2}
DEPTHS = {"whole": 1.0, "half": 0.5}


@dataclass(frozen=True)
class Case:
    """A supernet and what goes through it."""

    name: str
    supernet: Supernet
    players: Players
    rows: list[Tensor]
    batch: Batch
    probe: Probe


def cases(*, quick: bool) -> Iterator[Case]:
    size, images = (8, 8) if quick else (32, 128)
    cell = nasbench201_space(image=(3, size, size))
    yield case("nasbench201", cell, cell.supernet(0, 4 if quick else 16, 1), size, images)
    size, images = (8, 4) if quick else (16, 64)
    stacked = darts_space(image=(3, size, size))
    supernet = stacked.supernet(0, 4 if quick else 8, 3 if quick else 8)
    yield case("darts", stacked, supernet, size, images)


def case(name: str, family: Any, supernet: Supernet, size: int, images: int) -> Case:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(images, 3, size, size, generator=generator)
    part = Part(inputs.contiguous(memory_format=torch.channels_last), torch.arange(images) % 10)
    stream = BatchStream(part, images, 0)
    probe = Probe(supernet, TASK.loss, stream, BatchStream(part, images, 1), part, TASK.score)
    rows = [torch.full((n,), 1.0 / n) for n in family.space.sizes]
    return Case(name, supernet, players_of(family.space), rows, stream.next(), probe)


def plain_gates(case: Case, coalition: np.ndarray) -> Gates:
    masks = case.players.rows(coalition.astype(float), [len(row) for row in case.rows])
    return tuple(
        Gate(tuple(range(len(row))), row * torch.from_numpy(mask).float())
        for row, mask in zip(case.rows, masks, strict=True)
    )


def removals(case: Case, seed: int, depth: float) -> list[np.ndarray]:
    """Coalitions of one permutation, in order, down to a share of its players."""
    heard = np.flatnonzero(~case.players.null)
    order = np.random.default_rng(seed).permutation(heard)
    present = np.ones(len(case.players.names), dtype=bool)
    found = []
    for player in order[: round(depth * len(order))]:
        present[player] = False
        found.append(present.copy())
    return found


def seconds(run: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def measure(case: Case, part: str, seeds: int, depth: float) -> dict[str, Any]:
    ratios, rates = [], []
    for seed in range(seeds):
        coalitions = removals(case, seed, depth)
        game = SupernetGame(case.probe, case.players, case.rows)
        game.renew()

        def ours(game: SupernetGame = game, coalitions: list[np.ndarray] = coalitions) -> None:
            with case.probe.remembering():
                game.value(np.array(coalitions))

        def plain(coalitions: list[np.ndarray] = coalitions) -> None:
            for coalition in coalitions:
                case.probe.score(plain_gates(case, coalition), case.batch)

        ours_first = seconds(ours)
        plain_time = seconds(plain)
        ours_time = (ours_first + seconds(ours)) / 2  # on both sides of the other one
        ratios.append(plain_time / ours_time)
        rates.append((len(coalitions) / plain_time, len(coalitions) / ours_time))
    return {
        "space": case.name,
        "permutation": part,
        "players": int((~case.players.null).sum()),
        "plain_per_second": round(median(rate[0] for rate in rates), 2),
        "ours_per_second": round(median(rate[1] for rate in rates), 2),
        "ratio": round(median(ratios), 2),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--permutations", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for one in cases(quick=args.quick):
        one.probe.score(plain_gates(one, np.ones(len(one.players.names), dtype=bool)), one.batch)
        for part, depth in DEPTHS.items():
            seeds = 1 if args.quick else args.permutations
            rows.append(measure(one, part, seeds, 0.04 if args.quick else depth))
    show("evaluations of coalitions", rows)
    targets = [
        Target(
            f"{row['space']}, {row['permutation']} permutations: at least "
            f"{GOALS[row['permutation']]} times the plain way",
            f"{row['ratio']:.2f}",
            row["ratio"] >= GOALS[row["permutation"]],
        )
        for row in rows
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    raise SystemExit(main())
