"""How Shapley values move architecture weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Normalisation = Literal["table", "edge", "global", "zscore"]


@dataclass(frozen=True)
class ShapleyStep:
    """How Shapley values move architecture weights (Shapley-NAS, eq. 7 and 6).

    s_t = mu * s_{t-1} + (1 - mu) * phi_t / |phi_t|,   alpha_t = alpha_{t-1} + eps * s_t / |s_t|

    As the paper has it, alpha sums up averages that are all scaled to the same length, though the
    first ones hold few estimates. So early estimates, of the least trained weights, count most: of
    three that are at right angles to each other, with mu = 0.8, alpha holds eps times
    2.07, 1.34 and 0.70. With mu = 0 all of them count the same. `NewestStep` is the other way.

    The norm is taken over one cell's table of values (`table`, the literal reading), over the
    options of an edge (`edge`) or over everything (`global`). `zscore`, as the released code has
    it, scales a table's values to mean 0 and deviation 1, and the average of them not again.

    Attributes:
        blocks: players whose values are scaled together.
        momentum: mu.
        size: eps.
        zscore: whether values are standardised and not divided by their norm.
    """

    blocks: tuple[np.ndarray, ...]
    momentum: float
    size: float
    zscore: bool = False

    def moved(
        self, average: np.ndarray, values: np.ndarray, number: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """(s_t, alpha_t - alpha_{t-1}) [players], given s_{t-1}, phi_t and t, which is 1 at first.

        Values that are all zero, as early on, stay zeros.
        """
        del number
        average = self._averaged(average, values)
        return average, self.size * (average if self.zscore else self._unit(average))

    def _averaged(self, average: np.ndarray, values: np.ndarray) -> np.ndarray:
        """s_t."""
        scale = self._standardised if self.zscore else self._unit
        found: np.ndarray = self.momentum * average + (1 - self.momentum) * scale(values)
        return found

    def _unit(self, values: np.ndarray) -> np.ndarray:
        found = np.zeros_like(values)
        for block in self.blocks:
            norm = float(np.linalg.norm(values[block]))
            if norm > 0:
                found[block] = values[block] / norm
        return found

    def _standardised(self, values: np.ndarray) -> np.ndarray:
        found = np.zeros_like(values)
        for block in self.blocks:
            spread = float(values[block].std())
            if spread > 0:
                found[block] = (values[block] - values[block].mean()) / spread
        return found


@dataclass(frozen=True)
class NewestStep(ShapleyStep):
    """How Shapley values move architecture weights so that the newest count most (no paper's).

    s_t as in `ShapleyStep`,   alpha_t = alpha_0 + eps * t * s_t / (1 - mu^t)

    alpha is t steps of size eps along the average of all estimates so far, of which one that is k
    estimates old has mu^k times the newest one's weight: of three at right angles, with mu = 0.8,
    alpha holds eps times 0.79, 0.98 and 1.23. Weights of estimates sum to t, as if each one had
    moved alpha by eps once. mu is below 1.
    """

    def moved(
        self, average: np.ndarray, values: np.ndarray, number: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """(s_t, alpha_t - alpha_{t-1}) [players], given s_{t-1}, phi_t and t from 1 on."""
        after = self._averaged(average, values)
        return after, self._way(after, number) - self._way(average, number - 1)

    def _way(self, average: np.ndarray, number: int) -> np.ndarray:
        """alpha_t - alpha_0."""
        if number == 0:
            return np.zeros_like(average)
        found: np.ndarray = self.size * number * average / (1 - self.momentum**number)
        return found


def blocks_of(
    normalisation: Normalisation,
    decisions: np.ndarray,
    tables: Sequence[Sequence[int]],
) -> tuple[np.ndarray, ...]:
    """Which players are scaled together.

    Args:
        normalisation: over what.
        decisions: [players], whose option each one is.
        tables: the decisions of each cell.
    """
    if normalisation == "global":
        return (np.arange(len(decisions)),)
    groups = [[d] for d in np.unique(decisions).tolist()] if normalisation == "edge" else tables
    return tuple(np.flatnonzero(np.isin(decisions, list(group))) for group in groups)
