from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from meritnas.data.stream import Batch
from meritnas.policy.tags import mixable, silent
from meritnas.space.space import Space
from meritnas.supernet.gates import Gate, Gates
from meritnas.supernet.probe import Probe


@dataclass(frozen=True)
class Players:
    """The options of a space that take part in mixtures, each one a player.

    On a cell a player is an operation on an edge, in all cells that share the decision. On a
    width a player is that width's term g_k * pad(ReLU(LayerNorm(z[:w_k]))) of the layer's
    mixture, not the units that it has more than the width before.

    Attributes:
        decisions: [players], whose option it is.
        options: [players], which of its options.
        null: [players], booleans: who gives nothing but zeros, and so adds nothing.
        names: decision=option.
        groups: for each decision the players that compete there.
    """

    decisions: np.ndarray
    options: np.ndarray
    null: np.ndarray
    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]

    def rows(self, values: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
        """Numbers by player as a row [options] for each decision; 0 for who does not play."""
        rows = [np.zeros(size) for size in sizes]
        for decision, option, value in zip(self.decisions, self.options, values, strict=True):
            rows[decision][option] = value
        return rows


def players_of(space: Space) -> Players:
    """Everybody who plays in a space."""
    decisions: list[int] = []
    options: list[int] = []
    null: list[bool] = []
    names: list[str] = []
    groups: list[tuple[int, ...]] = []
    zeros = silent(space)
    for i, (decision, part) in enumerate(zip(space.decisions, mixable(space), strict=True)):
        own = np.flatnonzero(part).tolist()
        groups.append(tuple(range(len(names), len(names) + len(own))))
        for k in own:
            decisions.append(i)
            options.append(k)
            null.append(bool(zeros[i][k]))
            names.append(f"{decision.name}={decision.options[k].name}")
    return Players(
        np.array(decisions), np.array(options), np.array(null), tuple(names), tuple(groups)
    )


class SupernetGame:
    """A mixture whose options may be taken out: V(S) is its score on one batch (Shapley-NAS).

    Who is not in a coalition has weight 0 and is not run; the weights of the others stay as they
    are, as in the released code (with renormalising, `none` would not be a null
    player). Batch statistics, no buffers touched. All coalitions between two renewals see the
    same batch.

    Args:
        probe: the window on the supernet.
        players: who plays.
        rows: the mixture's weights [options] for each decision.
        judged_rows: how many rows of data a batch has at least, where there are so many; the
            statistics of a small batch are noise.
    """

    fixed = False

    def __init__(
        self, probe: Probe, players: Players, rows: Sequence[Tensor], judged_rows: int = 256
    ) -> None:
        self.players = len(players.names)
        self.null = players.null
        self._probe = probe
        self._who = players
        self._rows = tuple(rows)
        self._judged_rows = judged_rows
        self._batch: Batch | None = None

    def renew(self) -> None:
        """The next batch."""
        self._batch = self._probe.valid_rows(self._judged_rows)

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """Booleans [coalitions, players] -> scores [coalitions] on the batch as it is."""
        if self._batch is None:
            self.renew()
        assert self._batch is not None
        return np.array([self._probe.score(self.gates(row), self._batch) for row in coalitions])

    def gates(self, coalition: np.ndarray) -> Gates:
        """The mixture of the players of a coalition [players]."""
        found = []
        for row, group in zip(self._rows, self._who.groups, strict=True):
            active = tuple(int(self._who.options[p]) for p in group if coalition[p])
            found.append(Gate(active, row))
        return tuple(found)
