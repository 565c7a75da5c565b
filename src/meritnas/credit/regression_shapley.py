"""Shapley values by regression on random coalitions."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from meritnas.credit.game import Counted

_POWERS = 6
_SINGULAR = 1e-11
"""Eigenvalues below this part of the largest are none: that all players get more is one of them."""


class RegressionSampler:
    """Shapley values as the best additive stand-in for a game (KernelSHAP; Lundberg & Lee, 2017).

    They are the phi that minimise the sum over coalitions S of k(|S|) * (V(0) + phi . S - V(S))^2,
    k(s) ~ 1 / (s * (n - s)) a size, among all phi that sum to V(N) - V(0). Coalitions are drawn
    by that kernel, each with its complement (Covert & Lee, 2021), and sizes are dealt out as
    evenly as the kernel says instead of being drawn: the weights are then those of the draws, and
    all count alike. Of a size that would be drawn more often than it has coalitions, all are
    taken once, with their weight by the kernel, and the turn is left to the other sizes; where all
    sizes are, the turn is shorter and the values are exact. How scores depend on the mere size of a
    coalition says nothing about who is worth what, but would add noise; a polynomial of the size
    is fitted beside the players, which leaves what they get as it is on average. Standard errors
    are those of a regression with residuals of any size, by pairs, enlarged for what was fitted.

    Each evaluation tells about all players at once; in a permutation it tells about two.
    Values carry a bias of the order of 1 / pairs, as any ratio of two estimates.

    Every turn may see another batch: scores count from what nobody and everybody score on it.

    Args:
        null: booleans [players]: who adds nothing; they get 0.
        rng: where coalitions come from.
        pairs: coalitions and complements that a turn draws.
    """

    def __init__(self, null: np.ndarray, rng: np.random.Generator, pairs: int) -> None:
        self._null = null
        self._heard = np.flatnonzero(~null)
        self._rng = rng
        self._pairs = pairs
        self._members = np.zeros((0, len(self._heard)), dtype=bool)
        self._rest = np.zeros(0)
        self._weights = np.zeros(0)
        self._drawn = np.zeros(0, dtype=bool)
        self._totals: list[float] = []
        self._everybody = 0.0

    @property
    def pairs(self) -> int:
        """How many were drawn."""
        return len(self._rest) // 2

    @property
    def everybody(self) -> float:
        """What everybody scored together last; 0 before the first turn."""
        return self._everybody

    def advance(self, game: Counted) -> None:
        """One turn: two coalitions more than twice its pairs."""
        game.game.renew()
        both = np.ones((2, len(self._null)), dtype=bool)
        both[0, self._heard] = False
        nobody, self._everybody = (float(score) for score in game.value(both))
        total = self._everybody - nobody
        self._totals.append(total)
        n = len(self._heard)
        if n < 2 or self._pairs < 1:
            return
        whole, left = self._whole_sizes()
        listed = [row for size in whole for row in _all_of(n, size)]
        drawn = self._pairs - len(listed) if left else 0
        rows = np.zeros((2 * (len(listed) + drawn), n), dtype=bool)
        for number, members in enumerate(listed):
            rows[2 * number, list(members)] = True
        for number, size in enumerate(self._sizes(left, drawn), start=len(listed)):
            rows[2 * number, self._rng.permutation(n)[:size]] = True
        rows[1::2] = ~rows[::2]
        kernel = _kernel(n)
        # As many as a turn has pairs in all, so that turns without listed ones count alike.
        each = [self._pairs * kernel[size] / _count(n, size) for size in whole]
        weights = [w for w, size in zip(each, whole, strict=True) for _ in _all_of(n, size)]
        share = sum(kernel[size] for size in left)
        weights += [self._pairs * share / max(1, drawn)] * drawn
        coalitions = np.ones((len(rows), len(self._null)), dtype=bool)
        coalitions[:, self._heard] = rows
        # What is left to explain once everybody has an equal share of the total.
        rest = game.value(coalitions) - nobody - rows.mean(axis=1) * total
        self._members = np.concatenate([self._members, rows])
        self._rest = np.concatenate([self._rest, rest])
        self._weights = np.concatenate([self._weights, np.repeat(weights, 2)])
        here = np.arange(len(listed) + drawn) >= len(listed)
        self._drawn = np.concatenate([self._drawn, here])

    def _whole_sizes(self) -> tuple[list[int], list[int]]:
        """(smaller sizes of pairs that are listed as a whole, those that are drawn from)."""
        n = len(self._heard)
        kernel = _kernel(n)
        whole: list[int] = []
        pairs, share = float(self._pairs), 1.0
        for size in sorted(kernel):
            if _count(n, size) > pairs * kernel[size] / share:
                break
            whole.append(size)
            pairs -= _count(n, size)
            share -= kernel[size]
            if share < 1e-12:
                break
        return whole, [size for size in kernel if size not in whole]

    def _sizes(self, left: Sequence[int], draws: int) -> np.ndarray:
        """Systematic draws from the kernel over these sizes."""
        if not draws:
            return np.zeros(0, dtype=np.int64)
        kernel = _kernel(len(self._heard))
        shares = np.array([kernel[size] for size in left])
        points = (np.arange(draws) + self._rng.random()) / draws
        found = np.searchsorted(np.cumsum(shares / shares.sum()), points)
        return np.array(left)[np.minimum(found, len(left) - 1)]

    def values(self) -> np.ndarray:
        """[players]; zeros before the first turn."""
        return self._fit()[0]

    def stderr(self) -> np.ndarray:
        """[players]; infinite with too few pairs to tell."""
        return self._fit()[1]

    def _fit(self) -> tuple[np.ndarray, np.ndarray]:
        n = len(self._heard)
        values, errors = np.zeros(len(self._null)), np.zeros(len(self._null))
        if not self._totals or n == 0:
            return values, errors
        values[self._heard] = np.mean(self._totals) / n
        if n == 1:
            return values, errors
        # Members less their share: the values then sum to the total by themselves.
        members = self._members - self._members.mean(axis=1, keepdims=True)
        design = np.concatenate([members, self._by_size()], axis=1)
        weighted = design * self._weights[:, None]
        inverse = np.linalg.pinv(design.T @ weighted, rcond=_SINGULAR, hermitian=True)
        fitted = inverse @ (weighted.T @ self._rest)
        values[self._heard] += fitted[:n]
        errors[self._heard] = np.inf
        spare = self.pairs - np.linalg.matrix_rank(design)
        if spare > 0:
            missed = (self._rest - design @ fitted)[:, None] * weighted
            by_pair = missed.reshape(self.pairs, 2, -1).sum(axis=1) @ inverse[:, :n]
            # What was listed as a whole is no draw and has no luck.
            luck = by_pair[self._drawn]
            if 0 < len(luck) < self.pairs:
                luck = luck - luck.mean(axis=0)
            errors[self._heard] = np.sqrt((luck**2).sum(axis=0) * self.pairs / spare)
        return values, errors

    def _by_size(self) -> np.ndarray:
        """Powers of the size [coalitions, powers], as many as there are sizes to tell apart."""
        n = len(self._heard)
        size = 2.0 * self._members.sum(axis=1) / n - 1.0
        return size[:, None] ** np.arange(min(_POWERS, n - 1))

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on with the next turn."""
        return {
            "rng": json.dumps(self._rng.bit_generator.state),
            "members": self._members.tolist(),
            "rest": self._rest.tolist(),
            "weights": self._weights.tolist(),
            "drawn": self._drawn.tolist(),
            "totals": list(self._totals),
            "everybody": self._everybody,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._rng.bit_generator.state = json.loads(state["rng"])
        self._members = np.array(state["members"], dtype=bool).reshape(-1, len(self._heard))
        self._rest = np.array(state["rest"], dtype=np.float64)
        self._weights = np.array(state["weights"], dtype=np.float64)
        self._drawn = np.array(state["drawn"], dtype=bool)
        self._totals = list(state["totals"])
        self._everybody = state["everybody"]


def _kernel(n: int) -> dict[int, float]:
    """The kernel's share of each size s <= n / 2 and its complement's, which sum to 1."""
    weights = {size: 1.0 / (size * (n - size)) for size in range(1, n)}
    total = sum(weights.values())
    return {
        size: (weights[size] + (weights[n - size] if 2 * size != n else 0.0)) / total
        for size in range(1, n // 2 + 1)
    }


def _count(n: int, size: int) -> int:
    """How many pairs of a coalition of this size and its complement there are."""
    return math.comb(n, size) // (2 if 2 * size == n else 1)


def _all_of(n: int, size: int) -> Iterator[tuple[int, ...]]:
    """The smaller side of all these pairs; of halves those with player 0."""
    if 2 * size == n:
        return ((0, *rest) for rest in itertools.combinations(range(1, n), size - 1))
    return itertools.combinations(range(n), size)
