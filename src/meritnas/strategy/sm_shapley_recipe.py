from __future__ import annotations

import numpy as np

from meritnas.credit.grouped_shapley import expected_evaluations
from meritnas.credit.supernet_game import Players, players_of
from meritnas.errors import UsageError, whole_number
from meritnas.policy.policy import Ascent, Policy
from meritnas.policy.tags import mixable, tagged
from meritnas.space.decision import SPARSE
from meritnas.strategy.algorithms.darts import INITIAL_SPREAD, Softmax
from meritnas.strategy.algorithms.shapley_step import ShapleyStep, blocks_of
from meritnas.strategy.algorithms.sm_shapley import Grouped, SmShapley
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy

_NORMAL, _SPARSE = 20, 60
_EVALUATIONS_A_STEP = 6
_LEAST_ESTIMATES = 3
_LEAST_SAMPLES = 2
_MOST_TURNS = 20
_LEAST_SHARE, _MOST_SHARE = 0.1, 4.0
"""Samples by weight lie between a tenth of the mean and four times it: 4 and 160 of 40."""
_PAPERS = Ascent(betas=(0.5, 0.999), eps=1e-8, weight_decay=1e-4)


def sm_shapley(
    problem: Problem,
    *,
    normal_samples: int | None = None,
    sparse_samples: int | None = None,
    step: float = 0.1,
    gradient_share: float = 1 / 3,
    grouped: bool = True,
    proportional: bool | None = None,
    both: bool = False,
    policy_rate: float = 3e-4,
    judged_rows: int = 256,
) -> Strategy:
    """SM-ShapNAS: as shapley, with samples by group, after a start by gradients.

    Operations tagged `sparse` have `sparse_samples` permutations, everybody else `normal_samples`,
    on spaces without such tags too; without `grouped` all have their mean, and keep it unless
    `proportional` is asked for. Unless one of the two
    is given, they are the paper's 60 and 20 where at least three estimates then take at most about
    6 evaluations for each weight step, and else fewer, in the same ratio and not below 2; and
    there are no more estimates than that allows. Adam's rate and weight decay are the paper's.
    """
    given = normal_samples is not None or sparse_samples is not None
    counts = (
        whole_number("normal_samples", _or(normal_samples, _NORMAL), 1),
        whole_number("sparse_samples", _or(sparse_samples, _SPARSE), 1),
    )
    rows = whole_number("judged_rows", judged_rows, 1)
    for name, value in (("step", step), ("policy_rate", policy_rate)):
        if not 0 < value < np.inf:
            raise UsageError(f"{name} must be above 0 and finite, got {value}")
    if not 0 <= gradient_share <= 1:
        raise UsageError(f"gradient_share must lie between 0 and 1, got {gradient_share}")
    space = problem.feasible.space
    players = players_of(space)
    sparse = _sparse(problem, players)
    if not grouped:
        counts = (round(sum(counts) / 2),) * 2
    if given:
        samples, estimates = _dealt(players, sparse, counts), None
    else:
        samples, estimates = _affordable(problem, players, sparse, counts)
    by_weight = grouped if proportional is None else proportional
    estimate = _grouped(players, samples, rows, proportional=by_weight)
    tables = problem.tables or (tuple(range(len(space.decisions))),)
    moves = ShapleyStep(blocks_of("table", players.decisions, tables), 0.0, step)
    rng = problem.rng()
    initial = INITIAL_SPREAD * rng.standard_normal(sum(space.sizes))
    alpha = Softmax(Policy(space.sizes, policy_rate, _PAPERS, initial), mixable(space))
    warm = 0.0 if both else gradient_share
    most = None if estimates is None or warm == 1 else int(estimates / (1 - warm))
    return SmShapley(
        problem.feasible,
        alpha,
        estimate,
        moves,
        rng,
        warm_share=gradient_share,
        both=both,
        most_epochs=most,
    )


def _sparse(problem: Problem, players: Players) -> np.ndarray:
    """[players], booleans: who is a sparse operation."""
    tags = tagged(problem.feasible.space, SPARSE)
    pairs = zip(players.decisions, players.options, strict=True)
    return np.array([tags[decision][list(options)].any() for decision, options in pairs])


def _or(given: int | None, usual: int) -> int:
    return usual if given is None else given


def _dealt(players: Players, sparse: np.ndarray, counts: tuple[int, int]) -> np.ndarray:
    """[players]: the samples of each one's group; none for who adds nothing."""
    normal, others = counts
    return np.where(players.null, 0, np.where(sparse, others, normal))


def _affordable(
    problem: Problem, players: Players, sparse: np.ndarray, counts: tuple[int, int]
) -> tuple[np.ndarray, int]:
    """(samples [players], the most estimates) within 6 evaluations a weight step."""
    evaluations = _EVALUATIONS_A_STEP * problem.joint_steps
    samples = _dealt(players, sparse, counts)
    cost = expected_evaluations(samples, players.null)
    if _LEAST_ESTIMATES * cost > evaluations:
        fewest = min(counts)
        small = max(_LEAST_SAMPLES, int(fewest * evaluations / (_LEAST_ESTIMATES * cost)))
        normal, others = (round(count * small / fewest) for count in counts)
        samples = _dealt(players, sparse, (normal, others))
        cost = expected_evaluations(samples, players.null)
    return samples, max(1, int(evaluations / max(1.0, cost)))


def _grouped(
    players: Players, samples: np.ndarray, judged_rows: int, *, proportional: bool
) -> Grouped:
    """Who shares samples by weight: operations of a node, of which there are several."""
    turns = max(1, min(_MOST_TURNS, int(samples.max(initial=0))))
    if not proportional:
        return Grouped(players, samples, judged_rows, turns)
    heard = [tuple(p for p in group if not players.null[p]) for group in players.groups]
    shared = tuple(group for group in heard if len(group) > 1)
    members = [p for group in shared for p in group]
    mean = float(samples[members].mean()) if members else 1.0
    least, most = max(1, round(_LEAST_SHARE * mean)), round(_MOST_SHARE * mean)
    return Grouped(players, samples, judged_rows, turns, shared, least, most)
