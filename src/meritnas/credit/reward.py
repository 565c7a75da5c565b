"""What a sampled network is worth, from its loss and its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from meritnas.cost.terms import Cost


class Reward(Protocol):
    """What a sampled network is worth, from its validation loss and its cost."""

    def of(self, losses: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Rewards [n] of networks with these losses [n] and picks [n, decisions]."""
        ...


@dataclass(frozen=True)
class Quality:
    """Q = 1 - loss, blind to cost (TabNAS algorithm 1)."""

    def of(self, losses: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """One minus the loss."""
        del picks
        return 1.0 - losses


@dataclass(frozen=True)
class AbsReward:
    """Q + beta * |T / T0 - 1| with beta < 0 (TuNAS' absolute reward, TabNAS section 3.3)."""

    cost: Cost
    target: int
    beta: float = -1.0

    def of(self, losses: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Penalised for being above *or below* the target."""
        return 1.0 - losses + self.beta * np.abs(self.cost.of(picks) / self.target - 1.0)


@dataclass(frozen=True)
class MnasNetReward:
    """Q * (T / T0) ** beta (MnasNet).

    As published; where the loss is above 1, Q is negative and the scale works the other way.
    """

    cost: Cost
    target: int
    beta: float = -0.07

    def of(self, losses: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Scaled by the relative cost."""
        return (1.0 - losses) * (self.cost.of(picks) / self.target) ** self.beta


@dataclass(frozen=True)
class MnasNetMaxReward:
    """Q * max(1, T / T0) ** beta with beta < 0: MnasNet's hard variant.

    TabNAS section 3.3 prints Q * max(1, (T / T0) ** beta), which for beta < 0 rewards small
    networks and leaves those above the target unpenalised. MnasNet itself scales only those above
    the target; this does the same.
    """

    cost: Cost
    target: int
    beta: float = -0.07

    def of(self, losses: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Scaled by the relative cost where that is above one."""
        over = np.maximum(self.cost.of(picks) / self.target, 1.0)
        return (1.0 - losses) * over**self.beta
