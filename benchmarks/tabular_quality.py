"""How good are the networks that each strategy finds on a real table, under a limit?

For every seed (which also decides the split) each strategy searches with the same supernet budget;
what it found is trained from scratch several times and scored on held-out rows. Beside them:
`stand-alone random`, feasible networks drawn uniformly and trained one after the other for as long
as the `tabnas` search took, the best by validation loss kept; and the skyline, the best by
validation loss of a wide random sample trained to the end, which costs many times as much.

    python benchmarks/tabular_quality.py connect_4.tsv.gz --target target --max-params 8000 \
        --embedding 2 --seeds 3 --json quality.json
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import meritnas
from meritnas.data.bundle import Bundle
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.source import Source, load_source
from meritnas.families.tabular.family import TabularSpace, tabular_space
from meritnas.families.tabular.spec import Tabular
from meritnas.settings.recipe import TrainRecipe, default_batch_size
from meritnas.settings.training import Retraining
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.black_box import uniform_draw
from meritnas.strategy.catalogue import strategy_spec
from meritnas.training.metrics import main_metric, score
from meritnas.training.train import Trained, outputs_of, train_child
from scoreboard import Target, arguments, finish, show

STRATEGIES = "tabnas,reinforce,abs-reward,mnasnet,mnasnet-max,random,evolution,bayesian"
OPTIONS: dict[str, dict[str, str | int]] = {
    # The baseline that knows no limit until its final choice; as many draws a move as TabNAS has.
    "reinforce": {"sampling": "unrestricted", "weight_draws": "policy", "samples": 8}
}


@dataclass(frozen=True)
class Setting:
    """What all ways to search share."""

    source: Source
    limit: int
    embedding: int | None
    layers: int
    epochs: int
    train_epochs: int
    train_seeds: int


@dataclass(frozen=True)
class Ground:
    """The data and the space of one seed."""

    setting: Setting
    bundle: Bundle
    family: TabularSpace
    recipe: TrainRecipe
    seed: int

    @staticmethod
    def make(setting: Setting, seed: int) -> Ground:
        bundle = make_bundle(setting.source, seed)
        inputs = meritnas.TableInputs(
            bundle.encoder.numbers, bundle.encoder.cardinalities, setting.embedding
        )
        family = tabular_space(inputs, bundle.task.outputs, setting.layers)
        recipe = TrainRecipe(batch_size=default_batch_size(len(bundle.train)))
        return Ground(setting, bundle, family, recipe, seed)

    def train(self, architecture: Architecture, seed: int) -> Trained:
        module = self.family.child(architecture, seed)
        part = self.bundle
        epochs = self.setting.train_epochs
        return train_child(
            module, part.train, part.valid, part.task.loss, self.recipe, epochs, seed
        )

    def scores(self, architecture: Architecture) -> dict[str, float]:
        """Mean scores of a network on held-out rows, trained as a search trains its choice."""
        test = self.bundle.test
        found = []
        for k in range(self.setting.train_seeds):
            module = self.train(architecture, self.seed * 1000 + k).module
            found.append(score(self.bundle.task, outputs_of(module, test.inputs), test.target))
        return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def by_strategy(ground: Ground, strategy: str) -> dict[str, Any]:
    setting = ground.setting
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        events: list[dict[str, Any]] = []
        result = meritnas.search(
            setting.source.frame,
            setting.source.target,
            strategy=strategy_spec(strategy, OPTIONS.get(strategy)),
            max_params=setting.limit,
            space=Tabular(layers=setting.layers, embedding=setting.embedding),
            epochs=setting.epochs,
            retraining=Retraining(
                epochs=setting.train_epochs, seeds=setting.train_seeds, plain=False
            ),
            seed=ground.seed,
            out=Path(folder) / "run",
            listen=lambda event: events.append({**event, "at": time.perf_counter() - begin}),
        )
    searching = [event for event in events if event["kind"] == "search"]
    return {
        "strategy": strategy,
        "architecture": str(result.architecture),
        "params": result.summary["params"],
        "search seconds": searching[-1]["at"] - searching[0]["at"],
        "passes": searching[-1]["passes"],
        **result.test,
    }


def by_training(ground: Ground, label: str, seconds: float, most: int) -> dict[str, Any]:
    """The best by validation loss of uniform feasible networks trained alone."""
    feasible = ground.family.feasible(max_params=ground.setting.limit)
    rng = np.random.default_rng([ground.seed, 7])
    begin = time.perf_counter()
    best: tuple[float, Architecture] | None = None
    tried = 0
    # A training starts only where it is expected to end in time; the first one always does.
    while tried < most and (time.perf_counter() - begin) * (tried + 1) / max(1, tried) <= seconds:
        architecture = feasible.space.architecture(uniform_draw(feasible, 1, rng)[0])
        loss = ground.train(architecture, ground.seed * 1000 + tried).valid_loss
        tried += 1
        if best is None or loss < best[0]:
            best = (loss, architecture)
    assert best is not None
    spent = time.perf_counter() - begin
    return {
        "strategy": label,
        "architecture": str(best[1]),
        "params": ground.family.cost(best[1]),
        "search seconds": spent,
        "trained": tried,
        **ground.scores(best[1]),
    }


def summarise(rows: list[dict[str, Any]], metrics: list[str]) -> list[dict[str, Any]]:
    table = []
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        own = [row for row in rows if row["strategy"] == strategy]
        line: dict[str, Any] = {"strategy": strategy}
        for metric in metrics:
            values = [row[metric] for row in own]
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            line[metric] = f"{np.mean(values):.4f} ± {spread:.4f}"
        line["params"] = int(np.mean([row["params"] for row in own]))
        line["search seconds"] = float(np.mean([row["search seconds"] for row in own]))
        line["found"] = ", ".join(row["architecture"] for row in own)
        table.append(line)
    return table


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", help="a table, or a bundled name")
    parser.add_argument("--target")
    parser.add_argument("--max-params", type=int, required=True)
    parser.add_argument("--embedding", type=int)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=60, help="of a search")
    parser.add_argument("--train-epochs", type=int, default=40, help="of a network alone")
    parser.add_argument("--train-seeds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--skyline", type=int, default=30, help="networks trained to the end")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.quick:
        args.epochs, args.train_epochs, args.train_seeds = 2, 1, 1
        args.seeds, args.skyline = 1, 2
    setting = Setting(
        load_source(args.data, args.target),
        args.max_params,
        args.embedding,
        args.layers,
        args.epochs,
        args.train_epochs,
        args.train_seeds,
    )
    rows: list[dict[str, Any]] = []
    metrics: list[str] = []
    main_name = ""
    for seed in range(args.seeds):
        ground = Ground.make(setting, seed)
        main_name = main_metric(ground.bundle.task)
        found = [by_strategy(ground, strategy) for strategy in args.strategies.split(",")]
        seconds = found[0]["search seconds"]
        found.append(by_training(ground, "stand-alone random", seconds, 10**6))
        found.append(by_training(ground, "skyline", float("inf"), args.skyline))
        known = {"strategy", "architecture", "params", "search seconds", "passes", "trained"}
        metrics = [name for name in found[0] if name not in known]
        rows += [{"data": setting.source.name, "seed": seed, **row} for row in found]
        print(f"seed {seed} done", file=sys.stderr, flush=True)
    table = summarise(rows, metrics)
    feasible = ground.family.feasible(max_params=args.max_params)
    show(
        f"{setting.source.name}, at most {args.max_params:,} parameters "
        f"({feasible.count():,} of {feasible.space.count():,} networks), {args.seeds} seeds",
        table,
    )
    means = {
        name: float(np.mean([row[main_name] for row in rows if row["strategy"] == name]))
        for name in ("tabnas", "stand-alone random")
        if any(row["strategy"] == name for row in rows)
    }
    target = Target(
        f"tabnas at least matches stand-alone random sampling of equal time ({main_name})",
        ", ".join(f"{name} {value:.4f}" for name, value in means.items()),
        means.get("tabnas", 0.0) >= means["stand-alone random"],
    )
    return finish(rows, [target], args)


if __name__ == "__main__":
    sys.exit(main())
