"""Which witnesses tell good networks whose cells all differ from bad ones, MANAS' beliefs included?

    python benchmarks/unique_witnesses.py mnist5k --cells 8 --seeds 10,11 --json rows.json

With each seed `manas` searches the space `darts-unique`. Networks at random, the same ones for all
seeds, are trained from scratch. Spearman's correlation of what each witness says with the order by
validation loss; and of the sum of ranks of some of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

from manas_images import Sizes, pictures
from meritnas.engine.loop import Unkept, run_search
from meritnas.families.darts.spec import DartsUnique
from meritnas.run.begin import begin
from meritnas.run.job import Job
from meritnas.settings.request import Request, RunOptions
from meritnas.training.train import train_child
from meritnas.witness.panel import Panel
from meritnas.witness.untrained import Looks, some_rows
from nasbench201 import workers
from scoreboard import Target, arguments, finish, keep, show

Row = dict[str, Any]
WITNESSES = ("one-shot", "beliefs", "size", "patterns", "gradients")


def job_of(data: str, sizes: Sizes, cells: int, seed: int) -> Job:
    space = DartsUnique(
        channels=sizes.channels,
        cells=cells,
        supernet_channels=sizes.channels,
        supernet_cells=cells,
    )
    request = Request(
        space=space, strategy="manas", epochs=sizes.epochs, seed=seed, run=RunOptions(threads=1)
    )
    return begin(pictures(data, sizes), None, request)[0]


def drawn(job: Job, count: int) -> list[str]:
    family = job.ground.searched
    return [str(family.random(seed)) for seed in range(count)]


def trained(data: str, sizes: Sizes, cells: int, network: str) -> Row:
    """The validation loss of one network from scratch; rows are split as with seed 0."""
    job = job_of(data, sizes, cells, 0)
    begun = time.process_time()
    parts, recipe = job.bundle, job.settings.alone
    child = job.ground.searched.child(network, 0)
    found = train_child(
        child, parts.train, parts.valid, parts.task.loss, recipe, sizes.retrain_epochs, 0
    )
    took = round(time.process_time() - begun, 1)
    return {"network": network, "valid_loss": found.valid_loss, "seconds": took}


def said(data: str, sizes: Sizes, cells: int, seed: int, networks: Sequence[str]) -> list[Row]:
    """What every witness says of networks after a search."""
    job = job_of(data, sizes, cells, seed)
    search, _ = job.planned_search()
    run_search(search, Unkept(), _nobody)
    family, feasible = job.ground.searched, job.ground.searched_feasible
    picks = np.array([family.space.picks(family.parse(text)) for text in networks])
    looks = Looks(family, some_rows(job.bundle.train.sample), job.bundle.task.loss, seed)
    everybody = Panel(search.probe, family.costs, dict.fromkeys(WITNESSES, 1.0), looks)
    with search.own_draws():
        asked = everybody.within(feasible, search.strategy.beliefs())
        return [
            {"witness": one.name, "seed": seed, "said": one.judge(picks).tolist()} for one in asked
        ]


def _nobody(event: dict[str, Any]) -> None:
    del event


def agreement(rows: Sequence[Row], losses: Sequence[float]) -> list[Row]:
    """Of each set of witnesses, the mean over seeds of its correlation with the negative loss."""
    seeds = sorted({row["seed"] for row in rows})
    ranks = {(r["witness"], r["seed"]): rankdata(r["said"]) for r in rows}
    sets = chain.from_iterable(combinations(WITNESSES, k) for k in range(1, len(WITNESSES) + 1))
    found = []
    for names in sets:
        each = [
            float(spearmanr(-np.array(losses), sum(ranks[name, seed] for name in names)).statistic)
            for seed in seeds
        ]
        by_seed = ", ".join(f"{one:.2f}" for one in each)
        found.append({"witnesses": " + ".join(names), "mean": mean(each), "by seed": by_seed})
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", help="bundled images or a file")
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--seeds", default="10,11")
    parser.add_argument("--drawn", type=int, default=20, help="networks that are trained")
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--size", type=int, default=16, help="pixels each way")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=8, help="of a search")
    parser.add_argument("--retrain-epochs", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    sizes = Sizes(args.rows, args.size, args.channels, args.epochs, 1, args.retrain_epochs)
    cells, count = args.cells, args.drawn
    seeds = [int(seed) for seed in args.seeds.split(",")]
    if args.quick:
        sizes, cells, count, seeds = Sizes(120, 8, 4, 1, 1, 1), 2, 3, seeds[:1]
    networks = drawn(job_of(args.data, sizes, cells, 0), count)
    with workers(args.jobs, quick=args.quick) as pool:
        searches = [pool.submit(said, args.data, sizes, cells, seed, networks) for seed in seeds]
        trainings = [pool.submit(trained, args.data, sizes, cells, one) for one in networks]
        truth = [one.result() for one in trainings]
        rows = [row for one in searches for row in one.result()]
    keep([*truth, *rows], args)
    table = agreement(rows, [row["valid_loss"] for row in truth])
    table.sort(key=lambda row: -row["mean"])
    show("Spearman's correlation with the order by validation loss", table[:12])
    alone = [row for row in table if row["witnesses"] in WITNESSES]
    show("each alone", alone)
    return finish([*truth, *rows], list(_targets(alone)), args)


def _targets(alone: Sequence[Row]) -> Iterator[Target]:
    beliefs = next(row["mean"] for row in alone if row["witnesses"] == "beliefs")
    yield Target("what MANAS believes agrees with the truth", f"{beliefs:.2f}", beliefs > 0.3)


if __name__ == "__main__":
    raise SystemExit(main())
