"""Which space for tables finds the better network, at the same limit and in the same time?

For every seed, which decides the train, validation and test rows, each space is searched for
`--minutes` of wall-clock time as a user calls it, with at most MAXPARAMS parameters. Scores are of
the validation rows, by which both choose; with `--rows test` of rows that neither has seen.

    python benchmarks/table_spaces.py houses.tsv.gz:target:2000 --seeds 3 --json spaces.json

On a machine that does other things as well, `--processor-time` counts a minute of the processor, in
place of one of the clock on the wall, for everything that either search plans.
`--continue` leaves out what the JSON file already has for the same table, limit, minutes and seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

from meritnas.training.metrics import main_metric, score
from meritnas.training.threads import limited_threads
from scoreboard import Target, arguments, finish, show
from tabular_peers import Ground, Ledger, by_meritnas, mean_and_spread, parse_data, tell

SPACES = ("tabular", "rich-tabular")


def measure(ground: Ground, space: str, rows: str) -> dict[str, Any]:
    """Scores of what a search in a space finds."""
    with limited_threads(ground.threads):
        found = by_meritnas(replace(ground, space=space), rows)
    return {
        "params": found.params,
        **score(ground.task, found.outputs, ground.task.encode(ground.rows(rows)[1])),
        "seconds": round(found.seconds, 2),
        "config": found.config,
    }


def compared(ground: Ground, spaces: list[str], rows: str, ledger: Ledger) -> None:
    """Every space on one table and seed."""
    for space in spaces:
        keys = {
            "data": ground.source.name,
            "space": space,
            "seed": ground.seed,
            "limit": ground.limit,
            "minutes": ground.seconds / 60.0,
            "rows": rows,
        }
        if ledger.of(**keys):
            continue
        row = measure(ground, space, rows)
        ledger.add({**keys, **row})
        metric = main_metric(ground.task)
        tell(f"{ground.source.name} seed {ground.seed} {space}: {row[metric]:.4f} {row['config']}")


def summary(rows: list[dict[str, Any]], spaces: list[str], metric: str) -> list[dict[str, Any]]:
    """A line for each space: mean, spread, and how often it was better than the first one."""
    table = []
    first = {row["seed"]: row[metric] for row in rows if row["space"] == spaces[0]}
    for space in spaces:
        own = [row for row in rows if row["space"] == space]
        mean, spread = mean_and_spread(own, metric)
        ahead = sum(row[metric] > first[row["seed"]] for row in own)
        table.append(
            {
                "space": space,
                metric: f"{mean:.4f} ± {spread:.4f}",
                "ahead": f"{ahead} of {len(own)}",
                "params": round(mean_and_spread(own, "params")[0]),
                "seconds": mean_and_spread(own, "seconds")[0],
            }
        )
    return table


def main() -> int:
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", nargs="+", metavar="FILE:TARGET:MAXPARAMS")
    parser.add_argument("--spaces", default=",".join(SPACES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1.0, help="for each space")
    parser.add_argument("--rows", choices=("valid", "test"), default="valid")
    parser.add_argument("--processor-time", action="store_true", help="not that of the clock")
    parser.add_argument("--continue", action="store_true", dest="keep", help="skip rows in --json")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if args.processor_time:
        time.perf_counter = time.process_time  # which all of the package goes by
    if args.quick:
        args.seeds, args.minutes = 1, 0.02
    spaces, ledger, targets = args.spaces.split(","), Ledger(args), []
    for source, limit in map(parse_data, args.data):
        for seed in range(args.seeds):
            ground = Ground(source, limit, seed, 60.0 * args.minutes, args.threads, 0, 0)
            compared(ground, spaces, args.rows, ledger)
        found = ledger.of(data=source.name, limit=limit, minutes=args.minutes, rows=args.rows)
        found = [row for row in found if row["seed"] < args.seeds]
        metric = main_metric(ground.task)
        table = summary(found, spaces, metric)
        show(f"{source.name}, at most {limit:,} parameters, {args.rows} rows", table)
        means = [mean_and_spread([r for r in found if r["space"] == s], metric) for s in spaces]
        targets.append(
            Target(
                f"{source.name}, at most {limit:,}: {spaces[-1]} is level with {spaces[0]}",
                f"{means[-1][0]:.4f} against {means[0][0]:.4f} ({metric})",
                means[-1][0] >= means[0][0] - max(means[0][1], means[-1][1]),
            )
        )
    return finish(ledger.rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
