"""Shapley values of any game, by the method that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from meritnas.credit.certain_ranks import settled
from meritnas.credit.exact_shapley import MOST_PLAYERS, exact_shapley
from meritnas.credit.game import Counted, Function, Game, Value
from meritnas.credit.permutation_shapley import PermutationSampler
from meritnas.credit.regression_shapley import RegressionSampler
from meritnas.errors import UsageError

METHODS = ("auto", "exact", "permutation", "regression")
_USUAL_PERMUTATIONS = 10
_FEW_PLAYERS = 8


@dataclass(frozen=True)
class ShapleyValues:
    """What each player is worth to the game, and how sure that is.

    Attributes:
        players: their names.
        values: [players].
        stderr: [players], standard errors; zeros for exact values, infinite from one sample.
        samples: how many independent samples the errors rest on: permutations, or pairs of them or
            of coalitions; 0 for exact values.
        evaluations: of coalitions.
        permutations: how many orders were tried; 0 for other methods.
        depth: how many players a permutation removed, on average.
        settled: whether sampling ended because the ranking was certain enough.
    """

    players: tuple[str, ...]
    values: np.ndarray
    stderr: np.ndarray
    samples: int
    evaluations: int
    permutations: int = 0
    depth: float = 0.0
    settled: bool = False

    def interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(lower ends, upper ends) [players] of the values' confidence intervals (Student's t)."""
        if not 0 < confidence < 1:
            raise UsageError(f"confidence must lie between 0 and 1, got {confidence}")
        if self.samples == 0:
            return self.values.copy(), self.values.copy()
        if self.samples == 1:
            nowhere = np.full(len(self.values), np.inf)
            return -nowhere, nowhere
        reach = float(student.ppf((1 + confidence) / 2, self.samples - 1)) * self.stderr
        return self.values - reach, self.values + reach


def shapley_values(
    value: Value | Game,
    players: int | Sequence[str],
    method: str = "auto",
    permutations: int | None = None,
    truncation: float | None = None,
    budget: int | None = None,
    seed: int = 0,
    antithetic: bool = True,
    groups: Sequence[Sequence[int]] | None = None,
    confidence: float | None = None,
) -> ShapleyValues:
    """Shapley values of a game's players.

    Args:
        value: booleans [coalitions, players] -> one score each.
        players: how many, or their names.
        method: `exact` tries all coalitions; `permutation` removes players in random orders;
            `regression` fits an additive game to random coalitions, which errs less for the same
            number of evaluations. `auto` is `permutation` where an argument belongs to it, `exact`
            with up to 8 players or where the budget allows it, and `regression` else.
        permutations: how many orders, unless the budget or certainty ends it before; 10 where
            neither they nor a budget are given. A regression takes as many evaluations, unless a
            budget is given; exact values need none.
        truncation: stop removing once the score is at most this share of everybody's; None never
            stops, and only then are the values unbiased.
        budget: the most evaluations; a permutation that might not fit in is not begun.
        seed: of the permutations.
        antithetic: every other permutation is the reverse of the one before, unless their number
            is odd.
        groups: players that compete with each other, by number; all do if None.
        confidence: stop once the ranking within each group is this certain; None goes on.

    Raises:
        UsageError: an argument is out of range, or the budget is too small for anything.
    """
    names = _names(players)
    n = len(names)
    game = Counted(Function(value, n) if callable(value) else value)
    asked = {
        "permutations": permutations,
        "truncation": truncation,
        "confidence": confidence,
        "antithetic": None if antithetic else False,
    }
    if groups is not None and confidence is None:
        raise UsageError("groups say within what a ranking must be certain; give confidence too")
    _check(method, permutations, truncation, budget, confidence)
    chosen = _chosen(
        method, n, budget, [name for name, given in asked.items() if given is not None]
    )
    rng = np.random.default_rng(seed)
    if chosen == "exact":
        _afford(budget, 2**n, "exact values of", n)
        game.game.renew()
        return ShapleyValues(names, exact_shapley(game), np.zeros(n), 0, game.evaluations)
    if chosen == "regression":
        _afford(budget, 4, "a regression on", n)
        usual = (permutations or _USUAL_PERMUTATIONS) * n + 1
        pairs = ((budget or usual) - 2) // 2
        regression = RegressionSampler(game.game.null, rng, pairs)
        regression.advance(game)
        values, errors = regression.values(), regression.stderr()
        return ShapleyValues(names, values, errors, regression.pairs, game.evaluations)
    paired = antithetic and (permutations is None or permutations % 2 == 0)
    sampler = PermutationSampler(n, rng, truncation, antithetic=paired)
    _afford(budget, sampler.most_evaluations(game.game), "one sample of permutations of", n)
    most = permutations or (_USUAL_PERMUTATIONS if budget is None else np.inf)
    among = [range(n)] if groups is None else groups
    certain = False
    while sampler.permutations < most and not certain:
        needed = sampler.most_evaluations(game.game)
        if budget is not None and game.evaluations + needed > budget:
            break
        sampler.advance(game)
        certain = confidence is not None and settled(sampler.samples(), among, confidence)
    return ShapleyValues(
        names,
        sampler.values(),
        sampler.stderr(),
        len(sampler.samples()),
        game.evaluations,
        sampler.permutations,
        sampler.depth,
        certain,
    )


def _chosen(method: str, n: int, budget: int | None, asked: Sequence[str]) -> str:
    """The method that `auto` stands for; others must not get what belongs to permutations."""
    if method == "auto":
        if asked:
            return "permutation"
        enough = n <= _FEW_PLAYERS if budget is None else n <= MOST_PLAYERS and 2**n <= budget
        return "exact" if enough else "regression"
    for name in asked:
        if method != "permutation" and name != "permutations":
            raise UsageError(f"{name} goes with method 'permutation', got method '{method}'")
    return method


def _names(players: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(players, (int, np.integer)):
        names = tuple(str(number) for number in range(int(players)))
    else:
        names = tuple(str(name) for name in players)
    if not names:
        raise UsageError("a game needs at least one player, got none")
    return names


def _check(
    method: str,
    permutations: int | None,
    truncation: float | None,
    budget: int | None,
    confidence: float | None,
) -> None:
    if method not in METHODS:
        raise UsageError(f"unknown method '{method}'; there are {', '.join(METHODS)}")
    if permutations is not None and permutations < 1:
        raise UsageError(f"permutations must be at least 1, got {permutations}")
    if truncation is not None and not 0 <= truncation <= 1:
        raise UsageError(f"truncation must lie between 0 and 1 or be None, got {truncation}")
    if budget is not None and budget < 1:
        raise UsageError(f"budget must be at least 1 evaluation, got {budget}")
    if confidence is not None and not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, got {confidence}")


def _afford(budget: int | None, needed: int, what: str, players: int) -> None:
    if budget is not None and budget < needed:
        raise UsageError(
            f"{what} {players} players can take {needed} evaluations and the budget is {budget}; "
            "give a larger one"
        )
