"""Single paths that were judged, a few at a time on common rows."""

from __future__ import annotations

from typing import Any

import numpy as np


class JudgedPaths:
    """What paths scored, minus their losses; those of one block were judged on the same rows.

    Args:
        decisions: how many picks a path has.
    """

    def __init__(self, decisions: int) -> None:
        self._decisions = decisions
        self._picks: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []

    def __len__(self) -> int:
        return sum(map(len, self._scores))

    def add(self, picks: np.ndarray, losses: np.ndarray) -> None:
        """One block: paths [n, decisions] and their losses [n] on common rows."""
        self._picks.append(np.asarray(picks, dtype=np.int64))
        self._scores.append(-np.asarray(losses, dtype=np.float64))

    @property
    def picks(self) -> np.ndarray:
        """[paths, decisions], in the order of judging."""
        return np.concatenate([np.zeros((0, self._decisions), dtype=np.int64), *self._picks])

    @property
    def scores(self) -> np.ndarray:
        """[paths]; comparable within a block."""
        return np.concatenate([np.zeros(0), *self._scores])

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many paths each block has, in the order of judging."""
        return tuple(map(len, self._scores))

    def first(self, blocks: int) -> JudgedPaths:
        """The first blocks of them."""
        found = JudgedPaths(self._decisions)
        found._picks, found._scores = self._picks[:blocks], self._scores[:blocks]
        return found

    def state_dict(self) -> dict[str, Any]:
        """All blocks."""
        return {
            "picks": [block.tolist() for block in self._picks],
            "scores": [block.tolist() for block in self._scores],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._picks = [
            np.array(block, dtype=np.int64).reshape(-1, self._decisions) for block in state["picks"]
        ]
        self._scores = [np.array(block, dtype=np.float64) for block in state["scores"]]
