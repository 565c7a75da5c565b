"""Exact Shapley values, from all coalitions."""

from __future__ import annotations

from math import comb

import numpy as np

from meritnas.credit.game import Counted
from meritnas.errors import UsageError

MOST_PLAYERS = 20
_AT_ONCE = 4096


def exact_shapley(game: Counted) -> np.ndarray:
    """Shapley values [players] by all coalitions (Shapley-NAS, eq. 3): 2^players evaluations.

    phi_i = 1/n * sum over S without i of [V(S + i) - V(S)] / C(n-1, |S|). A coalition T of size t
    thus counts 1 / (n * C(n-1, t-1)) for its members and minus 1 / (n * C(n-1, t)) for the others.
    """
    n = game.game.players
    if n > MOST_PLAYERS:
        raise UsageError(
            f"exact Shapley values take 2^players evaluations and {n} players are too many (at "
            f"most {MOST_PLAYERS}); use method='permutation'"
        )
    values = np.zeros(n)
    inside = np.array([1 / (n * comb(n - 1, t - 1)) if t else 0.0 for t in range(n + 1)])
    outside = np.array([1 / (n * comb(n - 1, t)) if t < n else 0.0 for t in range(n + 1)])
    for start in range(0, 2**n, _AT_ONCE):
        codes = np.arange(start, min(start + _AT_ONCE, 2**n))
        members = (codes[:, None] >> np.arange(n)) & 1 == 1
        scores = game.value(members)
        sizes = members.sum(axis=1)
        weights = np.where(members, inside[sizes][:, None], -outside[sizes][:, None])
        values += scores @ weights
    return values
