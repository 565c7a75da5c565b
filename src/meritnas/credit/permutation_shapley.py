"""Shapley values by removing players in random orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meritnas.credit.game import Counted, Game
from meritnas.credit.orders import OrderSampler


class PermutationSampler(OrderSampler):
    """Shapley values by removing players one after the other (Shapley-NAS, algorithm 1).

    A permutation begins with everybody; each player is credited with what its removal costs. With
    truncation eta, nobody is removed any more once the score is at or below eta times that of
    everybody: the others get 0. That saves evaluations and biases all values towards 0; without
    it the mean over permutations is unbiased. A share of a score that is not above 0 means
    nothing, so there everybody is removed.

    Everybody's score is taken once for each permutation on a game that renews itself, so that a
    permutation compares like with like, and once altogether on a fixed one.

    Deviations: the printed condition "R[k] = zero" is read as "is not zero"; players known to add
    nothing (`game.null`) are never removed and get 0. With `antithetic`, every other permutation
    is the reverse of the one before, on the same batch: who came late comes early, which evens
    out most of what the order does (Mitchell et al., 2022); errors are then those of pairs. Where
    several workers score coalitions, both of a pair are gone through at the same time.

    Args:
        players: how many.
        rng: where permutations come from.
        truncation: eta, or None for never.
        antithetic: whether permutations come in pairs.
    """

    def __init__(
        self,
        players: int,
        rng: np.random.Generator,
        truncation: float | None = None,
        *,
        antithetic: bool = True,
    ) -> None:
        super().__init__(rng)
        self._players = players
        self._truncation = truncation
        self._antithetic = antithetic
        self._depths: list[int] = []

    @property
    def depth(self) -> float:
        """How many players a permutation removed, on average."""
        return float(np.mean(self._depths)) if self._depths else 0.0

    def most_evaluations(self, game: Game) -> int:
        """The most that one more `advance` can take."""
        whole = 0 if game.fixed and self._everybody is not None else 1
        return (2 if self._antithetic else 1) * int((~game.null).sum()) + whole

    def advance(self, game: Counted) -> None:
        """One more permutation, and its reverse where they come in pairs."""
        game.game.renew()
        if not game.game.fixed:
            self._everybody = None
        order = self._rng.permutation(self._players)
        orders = [order, order[::-1]] if self._antithetic else [order]
        if game.shared:
            self._remove(game, orders)
            return
        for one in orders:
            self._remove(game, [one])

    def _remove(self, game: Counted, orders: Sequence[np.ndarray]) -> None:
        """Remove players in these orders, in all of them at the same time."""
        heard = [order[~game.game.null[order]] for order in orders]
        marginals = np.zeros((len(orders), self._players))
        present = np.ones((len(orders), self._players), dtype=bool)
        if self._everybody is None:
            self._everybody = float(game.value(present[:1])[0])
        before = np.full(len(orders), self._everybody)
        whole = self._truncation is None or self._everybody <= 0
        least = -np.inf if whole else (self._truncation or 0.0) * self._everybody
        depths = [0] * len(orders)
        for depth in range(len(heard[0])):
            left = [i for i in range(len(orders)) if depths[i] == depth and before[i] > least]
            if not left:
                break
            players = [heard[i][depth] for i in left]
            present[left, players] = False
            after = game.value(present[left])
            marginals[left, players] = before[left] - after
            before[left] = after
            for i in left:
                depths[i] += 1
        self._marginals += list(marginals)
        self._depths += depths

    def samples(self) -> np.ndarray:
        """What each player was credited with: [samples, players], independent of each other.

        A sample is a permutation, or the mean of a pair.
        """
        rows = np.array(self._marginals).reshape(-1, self._players)
        if not self._antithetic:
            return rows
        return rows.reshape(-1, 2, self._players).mean(axis=1)

    def values(self) -> np.ndarray:
        """[players]: the mean over permutations; zeros before the first."""
        if not self._marginals:
            return np.zeros(self._players)
        return np.mean(self._marginals, axis=0)

    def deviation(self) -> np.ndarray:
        """[players]: how far single permutations lie from their mean; zeros before the first."""
        if not self._marginals:
            return np.zeros(self._players)
        return np.std(self._marginals, axis=0)

    def stderr(self) -> np.ndarray:
        """[players]: the standard error of `values`; infinite with fewer than two samples."""
        samples = self.samples()
        if len(samples) < 2:
            return np.full(self._players, np.inf)
        return samples.std(axis=0, ddof=1) / np.sqrt(len(samples))

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on with the next permutation."""
        return {**super().state_dict(), "depths": list(self._depths)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().load_state_dict(state)
        self._depths = list(state["depths"])
