"""How many samples the options of SM-ShapNAS have in an estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.credit.grouped_shapley import expected_evaluations, samples_in_proportion
from meritnas.credit.supernet_game import Players, players_of
from meritnas.policy.tags import tagged
from meritnas.space.decision import SPARSE
from meritnas.strategy.problem import Problem

_EVALUATIONS_A_STEP = 6
_LEAST_ESTIMATES = 3
_LEAST_SAMPLES = 2
_MOST_TURNS = 20
_LEAST_SHARE, _MOST_SHARE = 0.1, 4.0
"""Samples by weight lie between a tenth of the mean and four times it: 4 and 160 of 40."""


@dataclass(frozen=True)
class Grouped:
    """How many samples players have in an estimate, and what they are judged on.

    Attributes:
        players: who plays.
        samples: [players], m: those of each one's group.
        judged_rows: rows of validation data for each permutation, at least.
        turns: how many turns an epoch's estimate, or its steps by gradient, take.
        shared: for each node the players that share samples by their weights once the warm-up is
            over; all others keep theirs. Empty for nobody.
        least: the fewest samples by weight.
        most: the most.
    """

    players: Players
    samples: np.ndarray
    judged_rows: int
    turns: int
    shared: tuple[tuple[int, ...], ...] = ()
    least: int = 4
    most: int = 160

    def by_weight(self, beliefs: list[np.ndarray]) -> np.ndarray:
        """[players]: samples in proportion to the weights of a node's operations."""
        weights = np.array(
            [
                beliefs[decision][list(options)].sum()
                for decision, options in zip(
                    self.players.decisions, self.players.options, strict=True
                )
            ]
        )
        logits = np.log(np.maximum(weights, np.finfo(float).tiny))
        return samples_in_proportion(
            logits, self.shared, self.samples, least=self.least, most=self.most
        )


def group_samples(
    problem: Problem, counts: tuple[int, int], judged_rows: int, *, fits: bool, proportional: bool
) -> tuple[Grouped, int | None]:
    """(samples of the options, the most estimates; None for any number).

    Args:
        problem: whose options play.
        counts: samples of normal and of sparse options.
        judged_rows: of validation data.
        fits: whether there are fewer samples where time is short.
        proportional: whether samples follow the weights once the warm-up is over.
    """
    players = players_of(problem.feasible.space)
    sparse = _sparse(problem, players)
    most = None
    samples = _dealt(players, sparse, counts)
    if fits:
        samples, most = _affordable(problem, players, sparse, counts)
    return _grouped(players, samples, judged_rows, proportional=proportional), most


def _sparse(problem: Problem, players: Players) -> np.ndarray:
    """[players], booleans: who is a sparse operation."""
    tags = tagged(problem.feasible.space, SPARSE)
    pairs = zip(players.decisions, players.options, strict=True)
    return np.array([tags[decision][list(options)].any() for decision, options in pairs])


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
