"""Games: what coalitions of players are worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

Value = Callable[[np.ndarray], np.ndarray]
"""Coalitions, booleans [coalitions, players] -> what each one scores, numbers [coalitions]."""


class Game(Protocol):
    """Players that reach a score together; nothing here knows what they are.

    Attributes:
        players: how many.
        null: booleans [players]: who is known to add nothing to any coalition.
        fixed: whether a coalition always has the same score; if not, scores are comparable from
            one `renew` to the next only.
    """

    players: int
    null: np.ndarray
    fixed: bool

    def renew(self) -> None:
        """Draw anew whatever scores depend on, a batch of data for instance."""
        ...

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """Booleans [coalitions, players] -> scores [coalitions]."""
        ...


class Counted:
    """A game that counts its evaluations and refuses scores that are not numbers."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.evaluations = 0

    @property
    def shared(self) -> bool:
        """Whether coalitions that are asked for together are scored at the same time."""
        return bool(getattr(self.game, "shared", False))

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """The scores of coalitions, one each."""
        scores = np.asarray(self.game.value(coalitions), dtype=np.float64)
        if scores.shape != (len(coalitions),):
            raise ValueError(
                f"value must return one score for each coalition: {len(coalitions)} coalitions "
                f"gave an array of shape {scores.shape}"
            )
        if not np.isfinite(scores).all():
            raise ValueError(
                "value returned a score that is not finite; a coalition must score a number"
            )
        self.evaluations += len(coalitions)
        return scores


class Function:
    """A plain function as a game whose coalitions always score the same."""

    fixed = True

    def __init__(self, value: Value, players: int) -> None:
        self.players = players
        self.null = np.zeros(players, dtype=bool)
        self._value = value

    def renew(self) -> None:
        """Nothing to draw."""

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """What the function says."""
        return np.asarray(self._value(coalitions), dtype=np.float64)
