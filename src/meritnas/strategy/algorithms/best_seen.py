"""The best of what a search has judged so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from meritnas.cost.feasible import FeasibleSet


class BestSeen:
    """The feasible architecture with the lowest loss on its batch among all that were judged.

    AdvantageNAS (section 5.2) calls it `process best`. Batches differ, so part of its lead is
    luck.

    Attributes:
        picks: its option indices; None while none was seen.
        loss: its loss on its batch.
    """

    def __init__(self) -> None:
        self.picks: tuple[int, ...] | None = None
        self.loss = float("inf")

    def notice(self, picks: np.ndarray, losses: np.ndarray, feasible: FeasibleSet) -> None:
        """Look at judged architectures [n, decisions] with these losses [n]."""
        better = np.flatnonzero(losses < self.loss)
        better = better[feasible.contains(picks[better])] if len(better) else better
        if len(better):
            best = better[np.argmin(losses[better])]
            self.picks, self.loss = tuple(picks[best].tolist()), float(losses[best])

    def state_dict(self) -> dict[str, Any]:
        """Picks and loss."""
        return {"picks": None if self.picks is None else list(self.picks), "loss": self.loss}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.picks = None if state["picks"] is None else tuple(state["picks"])
        self.loss = state["loss"]
