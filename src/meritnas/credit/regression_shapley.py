from __future__ import annotations

import json
from typing import Any

import numpy as np

from meritnas.credit.game import Counted

_POWERS = 6


class RegressionSampler:
    """Shapley values as the best additive stand-in for a game (KernelSHAP; Lundberg & Lee, 2017).

    They are the phi that minimise the sum over coalitions S of k(|S|) * (V(0) + phi . S - V(S))^2,
    k(s) ~ 1 / (s * (n - s)) a size, among all phi that sum to V(N) - V(0). Coalitions are drawn
    by that kernel, each with its complement (Covert & Lee, 2021), and sizes are dealt out as
    evenly as the kernel says instead of being drawn: the weights are then those of the draws, and
    all count alike. How scores depend on the mere size of a coalition says nothing about who is
    worth what, but would add noise; a polynomial of the size is fitted beside the players, which
    leaves what they get as it is on average. Standard errors are those of a regression with
    residuals of any size, by pairs, enlarged for what was fitted.

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
        rows = np.zeros((2 * self._pairs, n), dtype=bool)
        for number, size in enumerate(self._sizes()):
            rows[2 * number, self._rng.permutation(n)[:size]] = True
            rows[2 * number + 1] = ~rows[2 * number]
        coalitions = np.ones((len(rows), len(self._null)), dtype=bool)
        coalitions[:, self._heard] = rows
        # What is left to explain once everybody has an equal share of the total.
        rest = game.value(coalitions) - nobody - rows.mean(axis=1) * total
        self._members = np.concatenate([self._members, rows])
        self._rest = np.concatenate([self._rest, rest])

    def _sizes(self) -> np.ndarray:
        """Systematic draws from the kernel over sizes 1 to n - 1."""
        n = len(self._heard)
        sizes = np.arange(1, n)
        kernel = 1.0 / (sizes * (n - sizes))
        points = (np.arange(self._pairs) + self._rng.random()) / self._pairs
        found = np.searchsorted(np.cumsum(kernel / kernel.sum()), points)
        return sizes[np.minimum(found, n - 2)]

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
        inverse = np.linalg.pinv(design.T @ design, hermitian=True)
        fitted = inverse @ (design.T @ self._rest)
        values[self._heard] += fitted[:n]
        errors[self._heard] = np.inf
        spare = self.pairs - np.linalg.matrix_rank(design)
        if spare > 0:
            missed = (self._rest - design @ fitted)[:, None] * design
            by_pair = missed.reshape(self.pairs, 2, -1).sum(axis=1) @ inverse[:, :n]
            errors[self._heard] = np.sqrt((by_pair**2).sum(axis=0) * self.pairs / spare)
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
            "totals": list(self._totals),
            "everybody": self._everybody,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._rng.bit_generator.state = json.loads(state["rng"])
        self._members = np.array(state["members"], dtype=bool).reshape(-1, len(self._heard))
        self._rest = np.array(state["rest"], dtype=np.float64)
        self._totals = list(state["totals"])
        self._everybody = state["everybody"]
