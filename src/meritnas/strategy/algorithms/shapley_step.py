"""How Shapley values move architecture weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Normalisation = Literal["table", "edge", "global", "zscore"]


@dataclass(frozen=True)
class ShapleyStep:
    """How Shapley values move architecture weights (Shapley-NAS, eq. 8-9).

    s_t = mu * s_{t-1} + (1 - mu) * phi / |phi|,   alpha_t = alpha_{t-1} + eps * s_t / |s_t|

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

    def moved(self, average: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(s_t, alpha_t - alpha_{t-1}) [players], given s_{t-1} and phi.

        Values that are all zero, as early on, stay zeros.
        """
        scale = self._standardised if self.zscore else self._unit
        average = self.momentum * average + (1 - self.momentum) * scale(values)
        return average, self.size * (average if self.zscore else self._unit(average))

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
