from __future__ import annotations

from typing import Any, Literal

import numpy as np

from meritnas.credit.supernet_game import players_of
from meritnas.errors import UsageError, whole_number
from meritnas.strategy.algorithms.darts import INITIAL_SPREAD
from meritnas.strategy.algorithms.dense import Dense
from meritnas.strategy.algorithms.ranked_by_shapley import RankedByShapley
from meritnas.strategy.algorithms.shapley import Shapley
from meritnas.strategy.algorithms.shapley_estimate import ByPermutations, ByRegression, Estimate
from meritnas.strategy.algorithms.shapley_step import Normalisation, ShapleyStep, blocks_of
from meritnas.strategy.gradient_recipes import softmax_weights
from meritnas.strategy.policy_recipes import named
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy
from meritnas.strategy.turns import Turns

_JUDGED_ROWS = 256
_TRUNCATION = 0.5
_PERMUTATIONS = 10
_EVALUATIONS_A_STEP = 6
_LEAST_ESTIMATES = 3
Estimator = Literal["permutation", "regression"]
_NORMALISATIONS = {name: name for name in ("table", "edge", "global", "zscore")}
_VARIANTS = {"paper": False, "released": True}


def shapley(
    problem: Problem,
    *,
    estimator: Estimator = "permutation",
    permutations: int | None = None,
    truncation: float | None = None,
    momentum: float = 0.8,
    step: float = 0.1,
    normalisation: Normalisation | None = None,
    variant: Literal["paper", "released"] = "paper",
    antithetic: bool = True,
    judged_rows: int | None = None,
    confidence: float = 0.0,
) -> Strategy:
    """Shapley-NAS: all options at once, weighted by what their removal costs.

    The variant `released` is the authors' code and not their text: values are means minus one
    deviation, scaled to z-scores and averaged from small noise on, from single permutations on
    1,024 rows. Truncation is at half the score unless it is given, and 0 is for none; confidence 0
    never ends an estimate early. Unless permutations are given, they are the paper's 10 after
    every epoch where that takes at most 6 evaluations for each weight step, and else fewer or less
    often: a cell of DARTS has 196 players, and a short search no time for 1,960 evaluations.
    """
    released = named("variant", variant, _VARIANTS)
    usual = "zscore" if released else "table"
    scaled = named("normalisation", normalisation or usual, _NORMALISATIONS)
    _within("momentum", momentum, 0.0, 1.0)
    if not 0 < step < np.inf:
        raise UsageError(f"step must be above 0 and finite, got {step}")
    if released and estimator != "permutation":
        raise UsageError(f"variant 'released' has estimator 'permutation', got '{estimator}'")
    rows = (1024 if released else _JUDGED_ROWS) if judged_rows is None else judged_rows
    sampling = {"antithetic": antithetic and not released, "lower": 1.0 if released else 0.0}
    most, count = _affordable(problem) if permutations is None else (None, permutations)
    estimate = _estimate(problem, estimator, count, truncation, rows, confidence, **sampling)
    size = len(estimate.players.names)
    tables = problem.tables or (tuple(range(len(problem.feasible.space.decisions))),)
    blocks = blocks_of(scaled, estimate.players.decisions, tables)
    rng = problem.rng()
    logits = INITIAL_SPREAD * rng.standard_normal(size)
    average = INITIAL_SPREAD * rng.standard_normal(size) if released else np.zeros(size)
    moves = ShapleyStep(blocks, momentum, step, scaled == "zscore")
    return Shapley(problem.feasible, estimate, moves, logits, average, rng, most)


def darts_shapley(
    problem: Problem,
    *,
    estimator: Estimator = "permutation",
    permutations: int = _PERMUTATIONS,
    truncation: float | None = None,
    policy_rate: float | None = None,
) -> Strategy:
    """DARTS that ranks its options by Shapley values at the end."""
    rng = problem.rng()
    searched = Dense(problem.feasible, softmax_weights(problem, "darts", policy_rate, rng))
    estimate = _estimate(problem, estimator, permutations, truncation)
    return RankedByShapley(searched, problem.feasible, estimate, rng)


def darts_shapley_frozen(
    problem: Problem,
    *,
    estimator: Estimator = "permutation",
    permutations: int = _PERMUTATIONS,
    truncation: float | None = None,
) -> Strategy:
    """An equal mixture that never learns, ranked by Shapley values at the end."""
    rng = problem.rng()
    never = Turns("frozen", each_epoch=0)
    searched = Dense(problem.feasible, softmax_weights(problem, "darts", None, rng), turns=never)
    estimate = _estimate(problem, estimator, permutations, truncation)
    return RankedByShapley(searched, problem.feasible, estimate, rng)


def _affordable(problem: Problem) -> tuple[int, int]:
    """(the most estimates, permutations of each) within 6 evaluations a weight step."""
    heard = int((~players_of(problem.feasible.space).null).sum())
    evaluations = _EVALUATIONS_A_STEP * problem.joint_steps
    count = evaluations // (_LEAST_ESTIMATES * max(1, heard))
    count = min(_PERMUTATIONS, max(2, count - count % 2))
    return max(1, evaluations // (count * max(1, heard))), count


def _estimate(
    problem: Problem,
    estimator: str,
    permutations: int,
    truncation: float | None,
    judged_rows: int = _JUDGED_ROWS,
    confidence: float = 0.0,
    **sampling: Any,
) -> Estimate:
    share = _TRUNCATION if truncation is None else truncation
    _within("truncation", share, 0.0, 1.0)
    _within("confidence", confidence, 0.0, 1.0)
    players = players_of(problem.feasible.space)
    count = whole_number("permutations", permutations, 1)
    rows = whole_number("judged_rows", judged_rows, 1)
    if named("estimator", estimator, {"permutation": False, "regression": True}):
        single = not sampling.get("antithetic", True)
        for name, given in (
            ("truncation", truncation is not None),
            ("confidence", confidence > 0),
            ("no antithetic", single),
        ):
            if given:
                raise UsageError(f"{name} goes with estimator 'permutation', got 'regression'")
        return ByRegression(players, rows, count)
    eta, sure = share or None, confidence or None
    return ByPermutations(players, rows, count, eta, confidence=sure, **sampling)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} must lie between {low:g} and {high:g}, got {value}")
