from __future__ import annotations

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

    What each evaluation tells it tells about all players at once; permutations use it for one.
    Values carry a bias of the order of 1 / pairs, as any ratio of two estimates.

    Args:
        game: all coalitions are judged on the batch as it is.
        rng: where coalitions come from.
    """

    def __init__(self, game: Counted, rng: np.random.Generator) -> None:
        self._game = game
        self._rng = rng
        self._active = np.flatnonzero(~game.game.null)
        everybody = np.ones((1, game.game.players), dtype=bool)
        nobody = everybody.copy()
        nobody[0, self._active] = False
        self._nobody = float(game.value(nobody)[0])
        self._all = float(game.value(everybody)[0])
        self._members = np.zeros((0, len(self._active)), dtype=bool)
        self._scores = np.zeros(0)

    def draw(self, pairs: int) -> None:
        """So many more coalitions and their complements."""
        n = len(self._active)
        if n < 2 or pairs < 1:
            return
        rows = np.zeros((2 * pairs, n), dtype=bool)
        for number, size in enumerate(self._sizes(pairs)):
            rows[2 * number, self._rng.permutation(n)[:size]] = True
            rows[2 * number + 1] = ~rows[2 * number]
        coalitions = np.ones((len(rows), self._game.game.players), dtype=bool)
        coalitions[:, self._active] = rows
        self._scores = np.concatenate([self._scores, self._game.value(coalitions)])
        self._members = np.concatenate([self._members, rows])

    def _sizes(self, pairs: int) -> np.ndarray:
        """Systematic draws from the kernel over sizes 1 to n - 1."""
        n = len(self._active)
        sizes = np.arange(1, n)
        kernel = 1.0 / (sizes * (n - sizes))
        points = (np.arange(pairs) + self._rng.random()) / pairs
        found = np.searchsorted(np.cumsum(kernel / kernel.sum()), points)
        return sizes[np.minimum(found, n - 2)]

    @property
    def pairs(self) -> int:
        """How many were drawn."""
        return len(self._scores) // 2

    def values(self) -> np.ndarray:
        """[players]."""
        return self._fit()[0]

    def stderr(self) -> np.ndarray:
        """[players]; infinite with too few pairs to tell."""
        return self._fit()[1]

    def _fit(self) -> tuple[np.ndarray, np.ndarray]:
        n, total = len(self._active), self._all - self._nobody
        values, errors = np.zeros(self._game.game.players), np.zeros(self._game.game.players)
        if n == 1:
            values[self._active] = total
        if n < 2:
            return values, errors
        # What is left to explain once everybody has an equal share, by members less their share:
        # the constraint then holds by itself.
        members = self._members - self._members.mean(axis=1, keepdims=True)
        rest = self._scores - self._nobody - self._members.mean(axis=1) * total
        design = np.concatenate([members, self._by_size()], axis=1)
        inverse = np.linalg.pinv(design.T @ design, hermitian=True)
        fitted = inverse @ (design.T @ rest)
        values[self._active] = total / n + fitted[:n]
        errors[self._active] = np.inf
        spare = self.pairs - np.linalg.matrix_rank(design)
        if spare > 0:
            missed = (rest - design @ fitted)[:, None] * design
            by_pair = missed.reshape(self.pairs, 2, -1).sum(axis=1) @ inverse[:, :n]
            errors[self._active] = np.sqrt((by_pair**2).sum(axis=0) * self.pairs / spare)
        return values, errors

    def _by_size(self) -> np.ndarray:
        """Powers of the size [coalitions, powers], as many as there are sizes to tell apart."""
        n = len(self._active)
        size = 2.0 * self._members.sum(axis=1) / n - 1.0
        return size[:, None] ** np.arange(min(_POWERS, n - 1))
