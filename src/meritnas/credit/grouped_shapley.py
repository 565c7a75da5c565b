"""Shapley values by permutations of which each player has a number of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from meritnas.credit.game import Counted
from meritnas.credit.orders import OrderSampler

_HALVINGS = 80
_KNOWN = -1
"""The place of everybody's score, where it was asked for before."""

_ROUNDING = 1e-6
"""What is this close to a whole number is that number."""


class GroupedSampler(OrderSampler):
    """Shapley values by permutations of which each player has a number of its own (SM-ShapNAS).

    phi_i = 1/m_i * sum over the first m_i permutations of [v(S + i) - v(S)], S being who is still
    there when i is taken away (eq. 9). In every permutation all players are taken away in
    order, but only the coalitions just before and just after a player that still has samples to
    come are evaluated, and one that is both is evaluated once. S is thus that of a plain
    permutation, and phi_i is unbiased whatever the numbers are.

    A permutation sees one batch: the game is renewed before each. On a game that is fixed
    everybody's score is taken once.

    Deviations: eq. 8 divides the whole Shapley sum by m_k and multiplies it with the share of the
    group; it is read as this mean, since the share is gone once values are divided by their norm.
    Players known to add nothing (`game.null`) are never taken away and get 0.

    Args:
        samples: [players], m: in how many permutations each one is looked at.
        rng: where permutations come from.
        turns: in how many turns, as evenly as whole numbers allow, they are made.
    """

    def __init__(self, samples: np.ndarray, rng: np.random.Generator, turns: int = 1) -> None:
        super().__init__(rng)
        self._samples = np.asarray(samples, dtype=np.int64)
        self._turns = turns
        self._turn = 0

    @property
    def samples(self) -> np.ndarray:
        """[players], in how many permutations each one is looked at in the end."""
        return self._samples.copy()

    def advance(self, game: Counted) -> None:
        """One more turn; none are left after as many as there are."""
        self._turn = min(self._turn + 1, self._turns)
        due = self._turn * int(self._samples.max(initial=0)) // self._turns
        while len(self._marginals) < due:
            game.game.renew()
            self._remove(game, self._rng.permutation(len(self._samples)))

    def _remove(self, game: Counted, order: np.ndarray) -> None:
        """Take players away in this order; all coalitions are asked for together."""
        recorded = self._samples > len(self._marginals)
        marginals = np.zeros(len(self._samples))
        present = np.ones(len(self._samples), dtype=bool)
        known = self._everybody if game.game.fixed else None
        asked: list[np.ndarray] = []
        looked_at: list[tuple[int, int, int]] = []  # who, and the places of before and after
        before = None if known is None else _KNOWN
        heard = order[~game.game.null[order]]
        for player in heard:
            if not recorded[player]:
                present[player] = False
                before = None
                continue
            if before is None:
                before = len(asked)
                asked.append(present.copy())
            present[player] = False
            looked_at.append((player, before, len(asked)))
            before = len(asked)
            asked.append(present.copy())
        if asked:
            scores = [*game.value(np.array(asked)).tolist(), known]
            for player, one, other in looked_at:
                marginals[player] = scores[one] - scores[other]
            if recorded[heard[0]]:
                self._everybody = scores[looked_at[0][1]]
        self._marginals.append(marginals)

    def _counts(self) -> np.ndarray:
        """[players]: how many samples each one has so far."""
        return np.minimum(self._samples, len(self._marginals))

    def _rows(self) -> np.ndarray:
        """[permutations, players], 0 where a player was not looked at."""
        return np.array(self._marginals).reshape(-1, len(self._samples))

    def values(self) -> np.ndarray:
        """[players]: the mean over each one's own samples; 0 for who has none."""
        return self._rows().sum(axis=0) / np.maximum(self._counts(), 1)

    def stderr(self) -> np.ndarray:
        """[players]: the standard error of `values`; infinite with fewer than two samples."""
        counts = self._counts()
        own = np.arange(len(self._marginals))[:, None] < counts
        squares = (own * (self._rows() - self.values()) ** 2).sum(axis=0)
        found = np.sqrt(squares / np.maximum(counts * (counts - 1), 1))
        return np.where(counts < 2, np.inf, found)

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on with the next turn, numbers of samples included."""
        own = {"samples": self._samples.tolist(), "turn": self._turn}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().load_state_dict(state)
        self._samples = np.array(state["samples"], dtype=np.int64)
        self._turn = state["turn"]


def expected_evaluations(samples: np.ndarray, null: np.ndarray) -> float:
    """How many coalitions an estimate evaluates on average, on a game that renews itself.

    With r of n players still to be looked at, a permutation's first and last coalition count with
    chance r/n each, and each of the n - 1 between them unless neither neighbour does.
    """
    heard = np.asarray(samples)[~null]
    n = len(heard)
    total = 0.0
    for number in range(int(heard.max(initial=0))):
        r = int((heard > number).sum())
        neither = (n - r) * (n - r - 1) / (n * (n - 1)) if n > 1 else 0.0
        total += 2 * r / n + (n - 1) * (1 - neither)
    return total


def samples_in_proportion(
    logits: np.ndarray,
    groups: Sequence[Sequence[int]],
    kept: np.ndarray,
    mean: float | None = None,
    least: int = 4,
    most: int = 160,
) -> np.ndarray:
    """Numbers of samples [players] that follow architecture weights (SM-ShapNAS, section 3.3).

    Of a node with K operations, operation o has m_o = K * mean * softmax(alpha)_o of them, but not
    fewer than `least` and not more than `most`. What a bound takes from one, or gives it, the
    others share in proportion, so that a node has exactly as many in all as before wherever the
    bounds admit that.

    Deviation: the paper has them follow alpha, which may be negative, and no bounds.

    Args:
        logits: [players], alpha.
        groups: for each node the players that share its samples.
        kept: [players], numbers that whoever is in no group, an edge for instance, keeps.
        mean: samples of an operation on average; None for what a node's players have in `kept`.
        least: the smallest number.
        most: the largest number.
    """
    found = np.array(kept, dtype=np.int64)
    for group in map(list, groups):
        total = float(kept[group].sum()) if mean is None else len(group) * mean
        found[group] = _whole(_bounded(logits[group], total, least, most), total, least, most)
    return found


def _bounded(logits: np.ndarray, total: float, least: int, most: int) -> np.ndarray:
    """Shares of a total in proportion to exp(logits), each within bounds; found by bisection."""
    ceiling = math.log(most)

    def shares(shift: float) -> np.ndarray:
        return np.clip(np.exp(np.minimum(logits + shift, ceiling)), least, most)

    low, high = -float(logits.max()), ceiling - float(logits.min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if shares(middle).sum() > total else (middle, high)
    return shares(high)


def _whole(shares: np.ndarray, total: float, least: int, most: int) -> np.ndarray:
    """Whole numbers near the shares whose sum is theirs: the largest remainders are rounded up."""
    whole = np.floor(shares + _ROUNDING).astype(np.int64)
    missing = int(np.clip(round(total), len(shares) * least, len(shares) * most) - whole.sum())
    order = np.argsort(whole - shares, kind="stable")
    for place in [k for k in order if whole[k] < most][: max(0, missing)]:
        whole[place] += 1
    return whole
