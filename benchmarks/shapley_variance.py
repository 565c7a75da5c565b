"""How far estimates of Shapley values are off after the same number of evaluations.

    python benchmarks/shapley_variance.py --json variance.json

A supernet of NAS-Bench-201's cell is trained as an equal mixture on handwritten digits; its 24
operations play for the accuracy on 256 digits that it was not trained on. Our estimators and those
of the library shapiq (extra `explain`) get the same budgets; the truth is a very long run of ours
by permutations in pairs, with other seeds. Squared errors are summed over the players.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch

from meritnas import nasbench201_space, shapley_values
from meritnas.credit.game import Value
from meritnas.credit.supernet_game import SupernetGame, players_of
from meritnas.data.images.bundle import encode_images, outline_images
from meritnas.data.images.source import load_images
from meritnas.data.stream import BatchStream
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.settings.recipe import TrainRecipe
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe
from scoreboard import Target, arguments, finish, show

RECIPE = TrainRecipe(
    "sgd",
    learning_rate=0.05,
    batch_size=64,
    weight_decay=5e-4,
    decay="gradient",
    nesterov=True,
    clip=5.0,
    averaging=0.0,
    dropout=0.0,
)
OURS = "regression (our default)"


def supernet_game(channels: int, steps: int) -> tuple[Value, int]:
    """A trained supernet's operations as players, judged on one batch; (value, how many)."""
    source = load_images("digits")
    bundle = encode_images(source, outline_images(source, 0))
    family = nasbench201_space(10, image=bundle.encoder.shape)
    supernet = family.supernet(0, channels, 1)
    probe = Probe(
        supernet,
        bundle.task.loss,
        BatchStream(bundle.train, 64, 0),
        BatchStream(bundle.valid, 64, 1),
        bundle.valid,
        bundle.task.score,
    )
    problem = Problem(family.feasible(), family.costs, steps, 0, nodes=family.nodes)
    mixture = strategy_spec("darts-shapley-frozen").make(problem)
    plan = Plan(0, steps, 0)
    search = Search(supernet, probe, mixture, RECIPE, plan, np.random.default_rng(0))
    for clock in plan.clocks(0):
        search.weight_step(clock)
    players = players_of(family.space)
    rows = [torch.from_numpy(row).float() for row in mixture.beliefs()]
    game = SupernetGame(probe, players, rows)
    game.renew()
    heard = np.flatnonzero(~players.null)

    def value(coalitions: np.ndarray) -> np.ndarray:
        full = np.ones((len(coalitions), game.players), dtype=bool)
        full[:, heard] = coalitions
        with probe.remembering():
            return game.value(full)

    return value, len(heard)


Estimator = Callable[[Value, int, int, int], np.ndarray]
"""(value, players, budget, seed) -> values [players]."""


def estimators() -> Iterator[tuple[str, Estimator]]:
    yield (
        "permutations, single",
        lambda v, n, b, s: (
            shapley_values(v, n, "permutation", budget=b, seed=s, antithetic=False).values
        ),
    )
    yield (
        "permutations, in pairs",
        lambda v, n, b, s: shapley_values(v, n, "permutation", budget=b, seed=s).values,
    )
    yield OURS, lambda v, n, b, s: shapley_values(v, n, "regression", budget=b, seed=s).values
    try:
        import shapiq
    except ImportError:
        print("shapiq is not installed: its estimators are left out")
        return

    def theirs(make: Callable[[int, int], Any]) -> Estimator:
        def run(value: Value, n: int, budget: int, seed: int) -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = make(n, seed).approximate(budget, value)
            return np.asarray(found.get_n_order_values(1))

        return run

    yield "shapiq permutation", theirs(lambda n, s: shapiq.PermutationSamplingSV(n, random_state=s))
    yield "shapiq stratified", theirs(lambda n, s: shapiq.StratifiedSamplingSV(n, random_state=s))
    yield "shapiq KernelSHAP", theirs(lambda n, s: shapiq.KernelSHAP(n, random_state=s))
    yield (
        "shapiq KernelSHAP, paired",
        theirs(lambda n, s: shapiq.KernelSHAP(n, random_state=s, pairing_trick=True)),
    )
    yield "shapiq SVARM", theirs(lambda n, s: shapiq.SVARM(n, random_state=s))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--budgets", default="250,500,1000")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--reference", type=int, default=1200, help="permutations of the truth")
    args = parser.parse_args()
    torch.set_num_threads(1)
    budgets = [50] if args.quick else [int(budget) for budget in args.budgets.split(",")]
    repeats = 2 if args.quick else args.repeats
    value, n = supernet_game(*((2, 2) if args.quick else (8, 150)))
    long = 1 if args.quick else args.reference
    kept = (2, 4) if args.quick else (None,)
    truth = shapley_values(value, n, "permutation", permutations=long, seed=10**6)
    noise = float((truth.stderr**2).sum()) if truth.samples > 1 else 0.0
    rows: list[dict[str, Any]] = []
    for budget in budgets:
        for name, estimate in itertools.islice(estimators(), *kept):
            errors = [
                float(((estimate(value, n, budget, seed) - truth.values) ** 2).sum())
                for seed in range(repeats)
            ]
            rows.append(
                {
                    "estimator": name,
                    "evaluations": budget,
                    "squared_error": mean(errors),
                    "spread": stdev(errors),
                    "truth_error": noise,
                }
            )
    show(f"sum over {n} operations of squared errors, {repeats} seeds", rows)
    return finish(rows, list(_targets(rows)), args)


def _targets(rows: list[dict[str, Any]]) -> Iterator[Target]:
    for budget in dict.fromkeys(row["evaluations"] for row in rows):
        own = {r["estimator"]: r["squared_error"] for r in rows if r["evaluations"] == budget}
        others = {name: error for name, error in own.items() if name != OURS}
        best = min(others, key=others.__getitem__)
        yield Target(
            f"{budget} evaluations: our default errs least",
            f"{own[OURS]:.2g} against {others[best]:.2g} of {best}",
            own[OURS] <= others[best],
        )


if __name__ == "__main__":
    raise SystemExit(main())
