"""Do witnesses who look at untrained networks tell good networks in stages from bad ones?

    python benchmarks/convnet_witnesses.py cifar10.npz --max-params 200k --epochs 3 --json rows.json

Networks of the space `convnet` have a short training each, by the recipe that a search's finalists
have: plain ones, some that differ from a plain one in one decision, and some at random. Spearman's
correlation of what a witness says with validation loss, over all of them and within each kind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from meritnas.engine.candidates import around
from meritnas.run.begin import begin
from meritnas.run.job import Job
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.space.architecture import Architecture
from meritnas.training.metrics import scores_on
from meritnas.training.train import train_child
from meritnas.witness.untrained import Looks, patterns, some_rows
from plain import number
from scoreboard import Target, arguments, finish, keep, show

Row = dict[str, Any]
WITNESSES = ("patterns", "params", "flops")
ALL = "all"


def networks(job: Job, near: int, drawn: int) -> Iterator[tuple[str, Architecture]]:
    """Each with its kind: `plain`, `near`, `random`."""
    feasible, rng = job.ground.searched_feasible, np.random.default_rng(5)
    plain = job.ground.searched.plain(job.settings.limits)
    for one in plain:
        yield "plain", one
    for one in plain:
        others = around([one], feasible)[1:]
        for k in rng.permutation(len(others))[: near // len(plain)]:
            yield "near", others[k]
    uniform = feasible.condition([np.zeros(size) for size in feasible.space.sizes])
    for picks in uniform.sample(drawn, rng):
        yield "random", feasible.space.architecture(picks)


def trained(job: Job, looks: Looks, kind: str, one: Architecture, epochs: int) -> Row:
    """What a short training came to, and what witnesses say."""
    family, data, begun = job.ground.searched, job.bundle, time.process_time()
    found = train_child(
        family.child(one), data.train, data.valid, data.task.loss, job.settings.alone, epochs, 0
    )
    took = time.process_time() - begun
    picks = np.array([family.space.picks(one)])
    return {
        "kind": kind,
        "architecture": str(one),
        "valid_loss": found.valid_loss,
        "accuracy": scores_on(found.module, data.task, data.valid)["accuracy"],
        "patterns": float(patterns(looks).judge(picks)[0]),
        "params": family.cost(one, "params"),
        "flops": family.cost(one, "flops"),
        "seconds": round(took, 1),
    }


def agreement(rows: Sequence[Row], kind: str, witness: str) -> float:
    """Spearman's correlation with the negative loss: 1 for the same order."""
    own = [row for row in rows if kind in (ALL, row["kind"])]
    losses = [-row["valid_loss"] for row in own]
    return float(spearmanr(losses, [row[witness] for row in own]).statistic)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", help="images: a bundled name or a file")
    parser.add_argument("--max-params", default="200k")
    parser.add_argument("--epochs", type=int, default=3, help="of each training")
    parser.add_argument("--near", type=int, default=14, help="networks near plain ones")
    parser.add_argument("--drawn", type=int, default=14, help="networks at random")
    args = parser.parse_args()
    torch.set_num_threads(1)
    limits = Limits(max_params=number(args.max_params))
    request = Request(space="convnet", limits=limits, run=RunOptions(threads=1))
    job, _ = begin(args.data, None, request)
    looks = Looks(job.ground.searched, some_rows(job.bundle.train.sample), job.bundle.task.loss, 0)
    near, drawn = (4, 3) if args.quick else (args.near, args.drawn)
    rows: list[Row] = []
    for kind, one in networks(job, near, drawn):
        rows.append(trained(job, looks, kind, one, 1 if args.quick else args.epochs))
        keep(rows, args)
        print(kind, one, f"{rows[-1]['valid_loss']:.4f}", flush=True)
    table = [
        {"witness": name, **{kind: agreement(rows, kind, name) for kind in (ALL, "near", "random")}}
        for name in WITNESSES
    ]
    show("Spearman's correlation with the order by validation loss", table)
    return finish(rows, list(_targets(rows)), args)


def _targets(rows: Sequence[Row]) -> Iterator[Target]:
    for kind in ("near", "random"):
        own = agreement(rows, kind, "patterns")
        yield Target(f"{kind}: patterns agree with the truth", f"{own:.2f}", own > 0.3)


if __name__ == "__main__":
    raise SystemExit(main())
