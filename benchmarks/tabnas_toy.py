"""The toy example of TabNAS' figure 1: which reward finds 4-2 under a limit of 25 parameters?

Two layers with widths 2, 3, 4, two inputs, one output; the loss of each of the nine networks is
given. 4-2 is the best network that fits, 3-3 the trap that soft rewards fall into. For each way
to learn and each seed: where the layerwise argmax ends after 500 draws, and what the final choice
returns: TabNAS' algorithm 3, or (soft rewards, and where it says so) the mode of the policy within
the limit. All ways see as many draws; with 8 draws a policy step there are 8 times fewer steps.

    python benchmarks/tabnas_toy.py --seeds 200 --json toy.json
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from scoreboard import Target, arguments, finish, show

LIMIT = 25
OURS = "conditional, 8 draws a policy step (our default)"
LOSSES = np.array([[0.9, 0.9, 0.66], [0.9, 0.66, 0.3], [0.6, 0.3, 0.1]])


class KnownLosses:
    """Stands where a probe stands: the loss of every network is known."""

    def valid_batch(self) -> None:
        return None

    def losses(self, picks: np.ndarray, batch: None) -> np.ndarray:
        del batch
        return LOSSES[picks[:, 0], picks[:, 1]]

    def held_out_loss(self, picks: np.ndarray) -> float:
        return float(LOSSES[picks[0], picks[1]])


@dataclass(frozen=True)
class Method:
    label: str
    strategy: str
    rate: float
    options: Mapping[str, Any] = field(default_factory=dict)


PAPER = {"sampling": "monte-carlo", "mc_samples": 5, "final": "largest"}
EXACT = {"sampling": "rejection", "final": "largest"}
METHODS = (
    Method("abs reward, beta -1", "abs-reward", 0.05, {"beta": -1.0}),
    Method("abs reward, beta -2", "abs-reward", 0.05, {"beta": -2.0}),
    Method("MnasNet, beta -2", "mnasnet", 0.05, {"beta": -2.0}),
    Method("MnasNet max, beta -2", "mnasnet-max", 0.05, {"beta": -2.0}),
    Method("rejection, P(V) from N = 5 (paper)", "tabnas", 0.1, PAPER),
    Method("rejection, P(V) from N = 5 (paper)", "tabnas", 0.05, PAPER),
    Method("rejection, exact P(V)", "tabnas", 0.1, EXACT),
    Method("rejection, exact P(V)", "tabnas", 0.05, EXACT),
    Method("conditional (ours)", "tabnas", 0.1, {"final": "largest"}),
    Method("conditional (ours)", "tabnas", 0.05, {"final": "largest"}),
    Method(OURS, "tabnas", 0.1, {"final": "largest", "samples": 8}),
    Method(f"{OURS}, mode", "tabnas", 0.1, {"final": "mode", "samples": 8}),
)


def run(method: Method, seed: int, steps: int) -> tuple[str, str, int]:
    """(layerwise argmax, final choice, policy steps used)."""
    space = tabular_space(2, 1, 2, (2, 3, 4))
    feasible = space.feasible(max_params=LIMIT)
    problem = Problem(feasible, space.costs, steps, seed)
    strategy = strategy_spec(
        method.strategy, {"policy_rate": method.rate, "samples": 1, **method.options}
    ).make(problem)
    assert isinstance(strategy, PolicyGradient)
    probe: Any = KnownLosses()
    used = 0
    for step in range(steps):
        learnt = strategy.update(probe, Clock(step, steps, "joint", step, steps))
        used += int(learnt.values["used"]) if learnt else 0
    argmax = space.space.architecture([int(np.argmax(row)) for row in strategy.beliefs()])
    shown = str(argmax) if feasible.admits(argmax) else "infeasible"
    return shown, str(strategy.derive(probe)[0]), used


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    seeds = 5 if args.quick else args.seeds
    rows: list[dict[str, Any]] = []
    for method in METHODS:
        results = [run(method, seed, args.steps) for seed in range(seeds)]
        argmax = Counter(result[0] for result in results)
        final = Counter(result[1] for result in results)
        rows.append(
            {
                "method": method.label,
                "rate": method.rate,
                "draws used": sum(result[2] for result in results) / (seeds * args.steps),
                "argmax 4-2": argmax["4-2"] / seeds,
                "argmax 3-3": argmax["3-3"] / seeds,
                "argmax unfit": argmax["infeasible"] / seeds,
                "final 4-2": final["4-2"] / seeds,
                "final 3-3": final["3-3"] / seeds,
            }
        )
    show(f"TabNAS' toy example, {seeds} seeds, {args.steps} draws", rows)
    paper = max(row["final 4-2"] for row in rows if "paper" in row["method"])
    ours = next(row["final 4-2"] for row in rows if row["method"] == OURS)
    target = Target(
        "conditional sampling finds 4-2 more often than the paper's rejection at its better rate",
        f"{ours:.1%} against {paper:.1%}",
        ours > paper,
    )
    return finish(rows, [target], args)


if __name__ == "__main__":
    sys.exit(main())
