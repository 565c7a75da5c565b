"""P(V) and its gradient: exact against TabNAS' Monte-Carlo estimate, time and error in one run.

Spaces and sample sizes of the paper: Criteo 5-layer (limit 75,353, N = 32,768) and Volkert
9-layer (limit 78,114, N = 5,000,000). A policy step needs P(V) and the gradient of its log; for
the exact side that is the conditional law, its marginals and eight draws from it. The error of
P(V) is measured against another way to get it: all 3,200,000 architectures weighted one by one (5
layers), or a plain table over (option, cost so far) in floating point (9 layers). The last rows
time whole searches and say what share of them the feasible set took.

    python benchmarks/feasible.py --json feasible.json
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meritnas import tabular_space
from meritnas.engine.loop import run_search
from meritnas.engine.plan import make_plan
from meritnas.families.tabular.family import TabularSpace
from meritnas.policy.laws import Conditional, Draw, Law, MonteCarloRejection
from meritnas.policy.policy import Policy
from meritnas.prepare.ground import make_ground
from meritnas.settings.recipe import TrainRecipe
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.strategy.turns import WITH_WEIGHTS
from scoreboard import Target, arguments, finish, show
from tabular_step import TASK, made_data, make

REFERENCE_9 = "144-128-112-16-16-48-144-24-160"
WIDTHS_9 = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160)


@dataclass(frozen=True)
class Case:
    name: str
    family: TabularSpace
    limit: int
    samples: int
    batch: int


CASES = (
    Case("Criteo 5-layer", tabular_space(1027, 1, 5), 75_353, 32_768, 512),
    Case("Volkert 9-layer", tabular_space(180, 10, 9, WIDTHS_9), 78_114, 5_000_000, 32),
)


def policies(family: TabularSpace) -> dict[str, Policy]:
    """The policy of the first step, and one in the middle of a search."""
    uniform, moved = (Policy(family.space.sizes, 0.005) for _ in range(2))
    moved.logits += torch.from_numpy(np.random.default_rng(0).normal(size=len(moved.logits)))
    return {"uniform": uniform, "moved": moved}


def by_enumeration(family: TabularSpace, limit: int, policy: Policy) -> float:
    """P(V) as the sum of the probabilities of all feasible architectures, one by one."""
    sizes = family.space.sizes
    probabilities = policy.probabilities()
    rest = np.indices(sizes[1:]).reshape(len(sizes) - 1, -1).T
    total = 0.0
    for first in range(sizes[0]):
        picks = np.concatenate([np.full((len(rest), 1), first), rest], axis=1)
        fits = family.costs["params"].of(picks) <= limit
        kept = picks[fits]
        weights = np.ones(len(kept))
        for i, row in enumerate(probabilities):
            weights *= row[kept[:, i]]
        total += float(weights.sum())
    return total


def by_table(family: TabularSpace, limit: int, policy: Policy) -> float:
    """P(V) by a plain table over (option, cost so far), without any merging of states."""
    widths = [(family.inputs.width,), *family.widths, (family.outputs,)]
    rows = [*policy.probabilities(), np.ones(1)]
    mass: dict[int, dict[int, float]] = {widths[0][0]: {0: 1.0}}
    for after, row in zip(widths[1:], rows, strict=True):
        ahead: dict[int, dict[int, float]] = {}
        for b, chance in zip(after, row.tolist(), strict=True):
            found: dict[int, float] = {}
            for a, costs in mass.items():
                for cost, weight in costs.items():
                    total = cost + a * b + b
                    if total <= limit:
                        found[total] = found.get(total, 0.0) + weight * chance
            ahead[b] = found
        mass = ahead
    return sum(sum(costs.values()) for costs in mass.values())


def seconds_of(step: Callable[[], Any], at_least: float, most: int) -> float:
    """The median time of a step."""
    step()
    times: list[float] = []
    while len(times) < most and (sum(times) < at_least or len(times) < 3):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def compare(case: Case, samples: int) -> list[dict[str, Any]]:
    begin = time.perf_counter()
    feasible = case.family.feasible(max_params=case.limit)
    building = time.perf_counter() - begin
    rows: list[dict[str, Any]] = []
    for label, policy in policies(case.family).items():
        small = case.family.space.count() < 10**7
        truth = (by_enumeration if small else by_table)(case.family, case.limit, policy)
        exact, sampled = Conditional(feasible), MonteCarloRejection(feasible, samples)
        rng = np.random.default_rng(0)
        exact_seconds = seconds_of(partial(exact.draw, policy, 8, rng), 1.0, 200)
        mc_seconds = seconds_of(partial(sampled.draw, policy, 1, rng), 1.0, 20)
        estimates = [sampled.estimate(policy.probabilities(), rng)[0] for _ in range(3)]
        found = feasible.probability(policy.rows())
        rows.append(
            {
                "space": case.name,
                "policy": label,
                "P(V)": truth,
                "N": samples,
                "exact ms": 1e3 * exact_seconds,
                "Monte-Carlo ms": 1e3 * mc_seconds,
                "Monte-Carlo / exact": mc_seconds / exact_seconds,
                "exact error": abs(found / truth - 1),
                "Monte-Carlo error": float(np.mean([abs(e / truth - 1) for e in estimates])),
                "feasible": feasible.count(),
                "build ms": 1e3 * building,
            }
        )
    return rows


@dataclass
class Stopwatch:
    """A law that adds up the time it takes."""

    law: Law
    seconds: float = 0.0

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        begin = time.perf_counter()
        drawn = self.law.draw(policy, n, rng)
        self.seconds += time.perf_counter() - begin
        return drawn


class Watched(PolicyGradient):
    """The strategy with a watch on its law and on finding the leader for the record."""

    def leader(self) -> Architecture:
        assert isinstance(self.law, Stopwatch)
        begin = time.perf_counter()
        found = super().leader()
        self.law.seconds += time.perf_counter() - begin
        return found


def in_a_search(case: Case, steps: int) -> dict[str, Any]:
    """A whole search on made-up data of the paper's shape."""
    family = tabular_space(case.family.inputs, 1, len(case.family.widths), case.family.widths)
    limit = case.limit if case.family.outputs == 1 else family.cost(REFERENCE_9)
    recipe = TrainRecipe(batch_size=case.batch)
    data = made_data(family.inputs.width)
    begin = time.perf_counter()
    ground = make_ground(family, {"params": limit})
    building = time.perf_counter() - begin
    plan = make_plan(steps, WITH_WEIGHTS, 1)
    problem = Problem(ground.searched_feasible, ground.searched.costs, plan.joint, 0)
    strategy = strategy_spec("tabnas").make(problem)
    assert isinstance(strategy, PolicyGradient)
    assert isinstance(ground.searched, TabularSpace)
    watch = Stopwatch(strategy.law)
    made = {each.name: getattr(strategy, each.name) for each in fields(strategy) if each.init}
    strategy = Watched(**{**made, "law": watch})
    search = make(ground.searched, strategy, plan, data, recipe)
    with tempfile.TemporaryDirectory() as folder:
        run_search(search, RunStore.create(Path(folder) / "run", {}), lambda _: None)
    whole = time.perf_counter() - begin
    return {
        "space": case.name,
        "weight steps": steps,
        "batch": case.batch,
        "search s": whole,
        "building the set s": building,
        "draws, marginals, modes s": watch.seconds,
        "feasibility share": (building + watch.seconds) / whole,
        "task": TASK.kind,
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=3000, help="weight steps of a whole search")
    args = parser.parse_args()
    cases = CASES[:1] if args.quick else CASES
    rows = [row for case in cases for row in compare(case, 2048 if args.quick else case.samples)]
    show("P(V): exact against Monte-Carlo", rows)
    searches = [in_a_search(case, 80 if args.quick else args.steps) for case in cases]
    show("the feasible set in a whole search", searches)
    targets = [
        Target(
            f"{row['space']}, {row['policy']}: exact P(V) has no error (rounding apart)",
            f"{row['exact error']:.1e}",
            row["exact error"] < 1e-9,
        )
        for row in rows
    ]
    for row in rows:
        least = 0.5 if row["space"].startswith("Criteo") else 10.0
        targets.append(
            Target(
                f"{row['space']}, {row['policy']}: Monte-Carlo takes at least {least} of exact",
                f"{row['Monte-Carlo / exact']:.1f}",
                row["Monte-Carlo / exact"] >= least,
            )
        )
    targets += [
        Target(
            f"{row['space']}: at most a quarter of a search is feasibility work",
            f"{row['feasibility share']:.1%}",
            row["feasibility share"] <= 0.25,
        )
        for row in searches
    ]
    return finish([*rows, *searches], targets, args)


if __name__ == "__main__":
    sys.exit(main())
