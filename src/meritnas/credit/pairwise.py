"""A regression of losses on what was picked, and on what was picked together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.best_with_pairs import best_with_pairs
from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.path_regression import PathRegression, path_regression
from meritnas.space.architecture import Architecture


class Pairwise:
    """Each option's share in losses, and each pair's, by ridge regression (not in MANAS).

    Stands where `LeastSquares` does: losses of one call are those of one batch. An agent's blame
    are its options' main effects; the pairs make the best network of the last estimate another
    one than the sum of them would.

    Args:
        sizes: the number of options of each agent.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self._judged = JudgedPaths(len(self.sizes))
        self._solved = JudgedPaths(len(self.sizes))
        self._fitted: PathRegression | None = None

    def add(self, picks: np.ndarray, losses: np.ndarray) -> None:
        """Joint actions [n, agents] and their losses [n] on one batch."""
        self._judged.add(picks, losses)

    def seen(self) -> list[np.ndarray]:
        """For each agent booleans [options]: which of them occurred."""
        return self._seen(self._judged)

    def _seen(self, judged: JudgedPaths) -> list[np.ndarray]:
        picks = judged.picks
        return [np.bincount(picks[:, i], minlength=n) > 0 for i, n in enumerate(self.sizes)]

    def solve(self) -> list[np.ndarray]:
        """Main effects on losses, a row for each agent that sums to zero."""
        self._solved, self._fitted = self._judged, None
        return [-row for row in self._fit().mains]

    def _fit(self) -> PathRegression:
        if self._fitted is None:
            self._fitted = path_regression(self._solved, self.sizes, pairs=True)
        return self._fitted

    def best(self, feasible: FeasibleSet) -> Architecture | None:
        """The best network by the last estimate; None before the first."""
        if not len(self._solved):
            return None
        return best_with_pairs(feasible, self._fit(), self._seen(self._solved))

    def forget(self, share: float) -> None:
        """Begin anew; pairs are of one estimate, so all of it is forgotten."""
        if share != 1.0:
            raise ValueError(f"a pairwise regression forgets all, a share of 1, got {share}")
        self._judged = JudgedPaths(len(self.sizes))

    def state_dict(self) -> dict[str, Any]:
        """What was judged since the last estimate, and for it."""
        return {"judged": self._judged.state_dict(), "solved": self._solved.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._judged.load_state_dict(state["judged"])
        self._solved = JudgedPaths(len(self.sizes))
        self._solved.load_state_dict(state["solved"])
        self._fitted = None
