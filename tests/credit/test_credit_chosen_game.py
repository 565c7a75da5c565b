from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from meritnas.credit.chosen_game import ChosenGame
from meritnas.credit.shapley import shapley_values
from meritnas.data.stream import Batch
from meritnas.supernet.gates import Gates


class Watching:
    """Scores what runs: 3 for decision 0, 2 for decision 1, and 1 more for both together."""

    def __init__(self) -> None:
        self.rows: list[list[float]] = []

    def valid_rows(self, rows: int) -> Batch:
        return Batch(torch.arange(float(rows))[:, None], torch.zeros(rows))

    def scores(self, several: Sequence[Gates], batch: Batch) -> np.ndarray:
        return np.array([self.score(gates, batch) for gates in several])

    def score(self, gates: Gates, batch: Batch) -> float:
        self.rows.append(batch.inputs[:, 0].tolist())
        assert gates[2].active == (4,)  # never plays
        there = [gates[0].active == (2,), gates[1].active == (1,)]
        assert there[0] or gates[0].active == ()
        assert there[1] or gates[1].active == (0,)
        return 3.0 * there[0] + 2.0 * there[1] + all(there)


def test_parts_are_taken_away_and_replaced() -> None:
    probe: Any = Watching()
    game = ChosenGame(probe, (2, 1, 4), (0, 1), (None, 0), np.random.default_rng(0), 6)
    found = shapley_values(game, 2, method="exact")
    np.testing.assert_allclose(found.values, [3.5, 2.5])


def test_all_coalitions_see_the_same_rows_until_they_are_renewed() -> None:
    probe: Any = Watching()
    game = ChosenGame(probe, (2, 1, 4), (0, 1), (None, 0), np.random.default_rng(0), 6)
    game.value(np.array([[True, True], [False, True]]))
    assert probe.rows[0] == probe.rows[1]
    assert len(probe.rows[0]) == 6
    assert set(probe.rows[0]) <= set(range(6))
    game.renew()
    game.value(np.array([[True, True]]))
    assert probe.rows[2] != probe.rows[0]
