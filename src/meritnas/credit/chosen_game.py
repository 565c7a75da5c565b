"""The parts of one architecture as a game, by the shared weights of a supernet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from meritnas.data.stream import Batch
from meritnas.devices.placement import beside
from meritnas.supernet.gates import Gate
from meritnas.supernet.probe import Probe


class ChosenGame:
    """The parts of one architecture, by the shared weights of a supernet: who is worth what?

    A player is a decision, answered as the architecture answers it. Who is not in a coalition is
    answered by `else_option`; by None for nothing at all: an edge that is not there, an operation
    that gives zeros. The score is that of validation rows drawn with replacement from a batch
    (bootstrap), the same ones between two renewals: over renewals values spread as much as values
    found on other rows would.

    Args:
        probe: the window on the supernet.
        picks: the architecture.
        playing: the numbers of the decisions that play; others are always as chosen.
        else_options: for each that plays what there is without it.
        rng: of the draws.
        judged_rows: how many rows are drawn, where there are so many.
    """

    fixed = False

    def __init__(
        self,
        probe: Probe,
        picks: Sequence[int],
        playing: Sequence[int],
        else_options: Sequence[int | None],
        rng: np.random.Generator,
        judged_rows: int = 512,
    ) -> None:
        self.players = len(playing)
        self.null = np.zeros(self.players, dtype=bool)
        self._probe = probe
        self._chosen = [Gate((int(pick),)) for pick in picks]
        self._playing = tuple(playing)
        self._without = [Gate(() if other is None else (other,)) for other in else_options]
        self._rng = rng
        self._judged_rows = judged_rows
        self._batch: Batch | None = None

    def renew(self) -> None:
        """Other rows."""
        batch = self._probe.valid_rows(self._judged_rows)
        count = len(batch.target)
        drawn = self._rng.integers(count, size=min(count, self._judged_rows))
        rows = beside(torch.from_numpy(drawn), batch.target)
        weights = None if batch.weights is None else batch.weights[rows]
        self._batch = Batch(batch.inputs[rows], batch.target[rows], weights)

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """Booleans [coalitions, players] -> scores [coalitions] on the batch as it is."""
        if self._batch is None:
            self.renew()
        assert self._batch is not None
        found = []
        for row in coalitions:
            gates = list(self._chosen)
            for there, decision, without in zip(row, self._playing, self._without, strict=True):
                if not there:
                    gates[decision] = without
            found.append(tuple(gates))
        return self._probe.scores(found, self._batch)
