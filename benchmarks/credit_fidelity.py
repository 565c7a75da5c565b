"""Does credit tell the truth? Ranks of operations by credit against their true accuracies.

    python benchmarks/credit_fidelity.py --images cifar10.npz --table nb201.csv.gz --json rows.json

For each edge of NAS-Bench-201's cell and each choice of operations on the five other edges (the
context) the benchmark's table knows the accuracy of all cells that differ in that edge only. Their
ranking is compared with that by

- `alpha`: DARTS' weights after a search;
- `shapley`: Shapley values of the operations in the mixture that it left;
- `leave-one-out`: what taking one operation out of that mixture costs;
- `advantage`: -dL/dgate of the operation in a supernet trained on single paths, on average over
  random paths through it;
- `exact-advantage`: what the loss of these paths gains when the operation's output becomes zero;
- `one-shot`: minus the loss of random paths through it, on average;
- `path-shapley`: Shapley values of the path game, from as many random paths judged on common rows;

both advantages and `one-shot` from the same draws, and all four from the same weights. `true-paths`
is the path game with the table's own accuracies as scores: the most that additive credit can reach.
Spearman's correlation for every edge and context, then the mean;
the spread is over seeds. This is Shapley-NAS' figure 2 for all edges in all contexts.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib
import numpy as np
import torch
from scipy.stats import rankdata

from meritnas import nasbench201_table, shapley_values
from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.paths import all_paths
from meritnas.credit.edge_advantage import ByGradient, Exact
from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.path_game import estimated_values
from meritnas.credit.supernet_game import SupernetGame, players_of
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.families.nasbench201.benchmark import NASBench201Table
from meritnas.policy.balanced import balanced_draws
from meritnas.space.space import Space
from nasbench201 import Setting, Trial, bundle_of, family_of, make_search
from scoreboard import Target, arguments, finish, show

matplotlib.use("Agg")

CREDITS = (
    *("alpha", "shapley", "leave-one-out", "advantage", "exact-advantage", "one-shot"),
    *("path-shapley", "true-paths"),
)
_TOGETHER = 16
_JUDGED_ROWS = 512


def truths(table: NASBench201Table, space: Space) -> np.ndarray:
    """Validation accuracies of all cells, an axis for each edge."""
    found = np.zeros(space.sizes)
    for picks in itertools.product(*(range(size) for size in space.sizes)):
        text = str(space.architecture(picks))
        found[picks] = table.accuracy(text, "cifar10", "valid")
    return found


def fidelity(credit: list[np.ndarray], truth: np.ndarray) -> np.ndarray:
    """Mean over contexts of the rank correlation on each edge: [edges]."""
    found = []
    for edge, row in enumerate(credit):
        cells = np.moveaxis(truth, edge, -1).reshape(-1, truth.shape[edge])
        ranks = rankdata(cells, axis=1) - (cells.shape[1] + 1) / 2
        own = rankdata(row) - (len(row) + 1) / 2
        norms = np.linalg.norm(ranks, axis=1) * np.linalg.norm(own)
        found.append(float(np.mean(ranks @ own / np.maximum(norms, 1e-12))))
    return np.array(found)


def train(search: Search, plan: Plan) -> Search:
    for clock in plan.clocks(0):
        if clock.phase == search.strategy.turns.phase:
            search.strategy.update(search.probe, clock)
        search.weight_step(clock)
    return search


def credits_of_a_mixture(
    setting: Setting, seed: int, steps: int, evaluations: int
) -> dict[str, list[np.ndarray]]:
    """Alpha, and what operations are worth to the mixture that DARTS left."""
    bundle = bundle_of(setting, seed)
    plan = Plan(steps // 2, steps - steps // 2, 0)
    search = train(make_search(setting, Trial("darts", False, seed), bundle, plan, {}), plan)
    space = family_of(bundle, zero=False).space
    who = players_of(space)
    beliefs = search.strategy.beliefs()
    rows = [torch.from_numpy(row).float() for row in beliefs]
    game = SupernetGame(search.probe, who, rows, judged_rows=512)
    with search.probe.remembering():
        values = shapley_values(game, who.names, "regression", budget=evaluations, seed=seed)
        everybody = np.ones((1, len(who.names)), dtype=bool)
        without = ~np.eye(len(who.names), dtype=bool)
        game.renew()
        costs = game.value(everybody)[0] - game.value(without)
    return {
        "alpha": beliefs,
        "shapley": who.rows(values.values, space.sizes),
        "leave-one-out": who.rows(costs, space.sizes),
    }


def credits_of_paths(
    setting: Setting, seed: int, steps: int, draws: int
) -> dict[str, list[np.ndarray]]:
    """Mean advantages, mean one-shot loss and path-game values of each operation."""
    bundle = bundle_of(setting, seed)
    plan = Plan(steps, steps, 0)  # the first half of the learning rate's cosine
    search = make_search(setting, Trial("random", False, seed), bundle, plan, {})
    for clock in itertools.islice(plan.clocks(0), steps):
        search.weight_step(clock)
    space = family_of(bundle, zero=False).space
    rng = np.random.default_rng(seed)
    count = [np.zeros(size) for size in space.sizes]
    slopes = [np.zeros(size) for size in space.sizes]
    exact = [np.zeros(size) for size in space.sizes]
    losses = [np.zeros(size) for size in space.sizes]
    for _ in range(draws):
        picks = np.array([rng.integers(size) for size in space.sizes])
        batch = search.probe.valid_batch()
        loss, first = ByGradient(space).judge(search.probe, batch, picks)
        _, whole = Exact(space).judge(search.probe, batch, picks)
        for edge, pick in enumerate(picks):
            count[edge][pick] += 1
            slopes[edge][pick] += first[edge]
            exact[edge][pick] += whole[edge]
            losses[edge][pick] -= loss
    feasible = family_of(bundle, zero=False).feasible()
    judged = JudgedPaths(len(space.sizes))
    for _ in range(-(-draws // _TOGETHER)):
        picks = balanced_draws(feasible, _TOGETHER, rng)
        batch = search.probe.valid_rows(_JUDGED_ROWS)
        judged.add(picks, search.probe.losses(picks, batch))
    return {
        "path-shapley": estimated_values(feasible, judged, rng)[0],
        "advantage": [a / np.maximum(n, 1) for a, n in zip(slopes, count, strict=True)],
        "exact-advantage": [a / np.maximum(n, 1) for a, n in zip(exact, count, strict=True)],
        "one-shot": [a / np.maximum(n, 1) for a, n in zip(losses, count, strict=True)],
    }


def values_of_the_truth(feasible: FeasibleSet, truth: np.ndarray) -> list[np.ndarray]:
    """Shapley values of the path game whose scores are all true accuracies."""
    paths = all_paths(feasible.diagram)
    judged = JudgedPaths(truth.ndim)
    judged.add(paths, -truth[tuple(paths.T)])
    return estimated_values(feasible, judged, np.random.default_rng(0))[0]


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for number, name in enumerate(CREDITS):
        own = [row for row in rows if row["credit"] == name]
        edges = np.mean([row["by_edge"] for row in own], axis=0)
        axis.bar(number, np.mean([row["correlation"] for row in own]), color=f"C{number}")
        axis.scatter(np.full(len(edges), number), edges, color="black", s=14, zorder=3)
    axis.set_xticks(range(len(CREDITS)), CREDITS)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_ylabel("rank correlation with true accuracy")
    axis.set_title("mean over edges, contexts and seeds; a dot for each edge", fontsize=10)
    axis.grid(axis="y", alpha=0.3)
    figure.savefig(file, dpi=110)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--mixture-steps", type=int, default=400, help="of DARTS, half warm-up")
    parser.add_argument("--path-steps", type=int, default=1500)
    parser.add_argument("--evaluations", type=int, default=500, help="of coalitions")
    parser.add_argument("--draws", type=int, default=400, help="paths to judge")
    parser.add_argument("--size", type=int, default=24, help="pixels each way")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    setting = Setting(
        args.images, args.size, 4 if args.quick else args.channels, 1, 4 if args.quick else 64,
        0.1, 0.5, 0, 0.0,
    )  # fmt: skip
    steps = (2, 2) if args.quick else (args.mixture_steps, args.path_steps)
    table = nasbench201_table(args.table)
    rows: list[dict[str, Any]] = []
    truth: np.ndarray | None = None
    for seed in [int(seed) for seed in args.seeds.split(",")]:
        begun = time.perf_counter()
        if truth is None:
            truth = truths(table, family_of(bundle_of(setting, seed), zero=False).space)
        found = {
            **credits_of_a_mixture(setting, seed, steps[0], 60 if args.quick else args.evaluations),
            **credits_of_paths(setting, seed, steps[1], 4 if args.quick else args.draws),
            "true-paths": values_of_the_truth(
                family_of(bundle_of(setting, seed), zero=False).feasible(), truth
            ),
        }
        for name in CREDITS:
            by_edge = fidelity(found[name], truth)
            rows.append(
                {
                    "credit": name,
                    "seed": seed,
                    "correlation": round(float(by_edge.mean()), 4),
                    "by_edge": [round(float(value), 4) for value in by_edge],
                    "values": [[round(float(v), 6) for v in row] for row in found[name]],
                    "minutes": round((time.perf_counter() - begun) / 60, 2),
                }
            )
    show("rank correlation with the true accuracy of cells that differ in one edge", summary(rows))
    if args.figure is not None:
        draw(rows, args.figure)
    return finish(rows, list(_targets(rows)), args)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for name in CREDITS:
        own = [row["correlation"] for row in rows if row["credit"] == name]
        spread = stdev(own) if len(own) > 1 else 0.0
        found.append({"credit": name, "correlation": mean(own), "spread": spread})
    return found


def _targets(rows: list[dict[str, Any]]) -> Iterator[Target]:
    means = {row["credit"]: row["correlation"] for row in summary(rows)}
    yield Target(
        "Shapley values rank operations better than DARTS' weights do",
        f"{means['shapley']:.2f} against {means['alpha']:.2f}",
        means["shapley"] > means["alpha"],
    )
    yield Target(
        "Shapley values of the path game reach a rank correlation of 0.65",
        f"{means['path-shapley']:.2f} of at most {means['true-paths']:.2f}",
        means["path-shapley"] >= 0.65,
    )


if __name__ == "__main__":
    raise SystemExit(main())
