"""The path game: what single networks score that are drawn from the options of a coalition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.paths import all_paths
from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.path_regression import PathRegression, path_regression
from meritnas.policy.neighbours import is_free

_FAR = 200.0
"""The logit of an option outside is minus this: exp(-200) of a path's weight for each of them."""

_WORK = 3e8

MOST_ORDERS = 200
"""Of players, that an estimate under a limit looks at."""

_MOST_WITH_PAIRS = 1500


class PathGame:
    """V(S) = the mean score of the feasible paths that leave S as seldom as possible.

    A player is an option of a decision, those that give zeros included: in a single network they
    are choices like any other. Where S has options for every decision and one of their
    combinations is feasible, a path is drawn from S and the feasible set, all equally likely. A
    decision for which S has nothing is not emptied, as in a mixture, but left open. Where all
    combinations of S break a limit or a rule, paths leave S at as few decisions as they can.
    Nobody and everybody decide nothing, so V of both is the mean over all feasible paths, and
    values sum to zero. An option of no feasible path is a null player.

    By enumeration, for small spaces. It is a `Game`, so all that finds Shapley values can play it.

    Args:
        feasible: the paths.
        score: of a pick matrix [n, decisions], the larger the better: [n].
    """

    fixed = True

    def __init__(self, feasible: FeasibleSet, score: Callable[[np.ndarray], np.ndarray]) -> None:
        self.players = sum(feasible.space.sizes)
        self.null = np.zeros(self.players, dtype=bool)
        paths = all_paths(feasible.diagram)
        self._scores = np.asarray(score(paths), dtype=np.float64)
        self._columns = _columns(paths, feasible.space.sizes)

    def renew(self) -> None:
        """Nothing to draw."""

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """Booleans [coalitions, players] -> scores [coalitions]."""
        found = []
        for members in coalitions:
            left = (~members[self._columns]).sum(axis=1)
            found.append(self._scores[left == left.min()].mean())
        return np.array(found)


def estimated_values(
    feasible: FeasibleSet,
    judged: JudgedPaths,
    rng: np.random.Generator,
    most_orders: int = MOST_ORDERS,
) -> tuple[list[np.ndarray], PathRegression]:
    """(Shapley values, the regression that they rest on) from judged paths.

    The regression has effects of pairs beside main effects where at most 1,500 paths were judged:
    what pairs explain is no noise of main effects.
    """
    pairs = len(judged) <= _MOST_WITH_PAIRS
    fitted = path_regression(judged, feasible.space.sizes, pairs=pairs)
    orders = affordable_orders(feasible, rng, most_orders)
    return path_shapley(feasible, judged, fitted, orders), fitted


def path_shapley(
    feasible: FeasibleSet, judged: JudgedPaths, fitted: PathRegression, orders: np.ndarray
) -> list[np.ndarray]:
    """Shapley values of the path game from judged paths, a row for each decision.

    V(S) is a mean over paths, so values are linear in the scores of single paths, and every judged
    path informs all of them. What was judged counts as it was judged, every other path as the
    regression's main effects say; so with all paths judged values are exact, and else as good as
    the regression is.

    **Without a limit or a rule** there is a closed form. Values do not change when V is averaged
    over all ways to permute the options of the other decisions, which leaves of all scores the
    main effects e alone (an option's mean over all paths through it, less the mean of all). In an
    order of K options with t of them before option k, k adds e_k at t = 0 and
    e_k * K / ((K - 1)(t + 1)) in the mean after that, so

        value_k = e_k / K * (1 + K / (K - 1) * (1/2 + ... + 1/K)).

    Interactions cancel whatever they are: of a network's options this game knows what each is
    worth on average, as any additive credit does.

    **Under one**, V(S) is found for every start of some orders of the players, from the exact law
    of paths given S (the diagram with options outside S far away). What is averaged over
    orders is the difference to the free game of the same main effects, whose values are known.
    Without orders that difference is taken to be 0.

    Args:
        feasible: the paths.
        judged: some of them, drawn from the feasible set, all equally likely.
        fitted: the regression of their scores; only its main effects are used.
        orders: [orders, players], permutations.
    """
    sizes = feasible.space.sizes
    mains = np.concatenate(fitted.mains)
    paths, missed = _missed(judged, fitted)
    columns = _columns(paths, sizes)
    if is_free(feasible):
        count = float(feasible.count())
        through = np.bincount(columns.ravel(), np.repeat(missed, len(sizes)), len(mains))
        mains = mains + (np.repeat(sizes, sizes) * through - missed.sum()) / count
        orders = orders[:0]
    shares = [free_share(len(own)) for own in feasible.reachable()]
    values = mains * np.repeat(shares, sizes)
    if len(orders):
        values = values + _gains(orders, _Difference(feasible, mains, columns, missed))
    return np.split(values, np.cumsum(sizes)[:-1])


def free_share(options: int) -> float:
    """What part of its main effect an option of a free decision has as its Shapley value."""
    if options == 1:
        return 1.0
    later = sum(1.0 / (t + 1) for t in range(1, options))
    return (1.0 + options / (options - 1) * later) / options


def affordable_orders(
    feasible: FeasibleSet, rng: np.random.Generator, most_orders: int = MOST_ORDERS
) -> np.ndarray:
    """Random orders of all players [orders, players]: as many as a few seconds allow, or fewer.

    None where the set is free, and where its diagram is so large that not even two would fit.
    """
    players = sum(feasible.space.sizes)
    most = int(_WORK / (players * max(1, feasible.diagram.transitions)))
    count = 0 if is_free(feasible) or most < 2 else min(most, most_orders)
    return np.array([rng.permutation(players) for _ in range(count)]).reshape(count, players)


class _Difference:
    """V(S) given what is known of scores, less that of the free game of main effects.

    Args:
        feasible: the paths.
        mains: [players], their main effects.
        columns: [paths, decisions], the players of what was judged.
        missed: [paths], by how much main effects miss their scores.
    """

    def __init__(
        self, feasible: FeasibleSet, mains: np.ndarray, columns: np.ndarray, missed: np.ndarray
    ) -> None:
        self._feasible = feasible
        self._mains = mains
        self._columns = columns
        self._missed = missed
        self._reachable = [np.zeros(size, dtype=bool) for size in feasible.space.sizes]
        for row, own in zip(self._reachable, feasible.reachable(), strict=True):
            row[own] = True
        self._known: dict[bytes, float] = {}

    def __call__(self, members: np.ndarray) -> float:
        """Booleans [players]."""
        key = np.packbits(members).tobytes()
        if key not in self._known:
            self._known[key] = self._find(members)
        return self._known[key]

    def _find(self, members: np.ndarray) -> float:
        inside = np.split(members, np.cumsum(self._feasible.space.sizes)[:-1])
        logits = [np.where(row, 0.0, -_FAR) for row in inside]
        law = self._feasible.condition(logits)
        chances = np.concatenate(law.marginals())
        parts = zip(inside, self._reachable, strict=True)
        free = np.concatenate([_equal(row & can, can) for row, can in parts])
        logs = np.concatenate([row - np.logaddexp.reduce(row) for row in logits])
        drawn = np.exp(logs[self._columns].sum(axis=1) - law.log_probability)
        return float((chances - free) @ self._mains + drawn @ self._missed)


def _gains(orders: np.ndarray, worth: Callable[[np.ndarray], float]) -> np.ndarray:
    """What each player adds to those before it, the mean over orders: [players]."""
    gains = np.zeros(orders.shape[1])
    for order in orders:
        members = np.zeros(len(order), dtype=bool)
        reached = [worth(members)]
        for player in order[:-1]:
            members[player] = True
            reached.append(worth(members))
        reached.append(reached[0])  # everybody decides as little as nobody
        gains[order] += np.diff(reached)
    return gains / len(orders)


def _equal(inside: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Equal chances of the options inside, or of others where there are none."""
    row = inside if inside.any() else otherwise
    return np.asarray(row / row.sum())


def _missed(judged: JudgedPaths, fitted: PathRegression) -> tuple[np.ndarray, np.ndarray]:
    """(different judged paths, by how much main effects miss their scores in the mean).

    Scores are compared within a block only; the mean of what a block misses is taken to be 0.
    """
    picks = judged.picks
    rows = np.concatenate(fitted.mains)
    gaps = judged.scores - rows[_columns(picks, [len(row) for row in fitted.mains])].sum(axis=1)
    parts = np.split(gaps, np.cumsum(judged.blocks)[:-1]) if len(gaps) else []
    gaps = np.concatenate([np.zeros(0), *(part - part.mean() for part in parts)])
    paths, which = np.unique(picks, axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), minlength=len(paths))
    sums = np.bincount(which.ravel(), gaps, len(paths))
    return paths, sums / np.maximum(counts, 1)


def _columns(picks: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """The players [n, decisions] of paths."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    return np.asarray(starts + picks)
