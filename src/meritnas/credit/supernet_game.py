"""The options of a supernet as a game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from meritnas.data.stream import Batch
from meritnas.policy.tags import mixable, silent, tagged
from meritnas.space.decision import TOGETHER, Decision
from meritnas.space.space import Space
from meritnas.supernet.gates import Gate, Gates
from meritnas.supernet.probe import Probe


@dataclass(frozen=True)
class Players:
    """The options of a space that take part in mixtures: each one a player, or some together.

    On a cell a player is an operation on an edge, in all cells that share the decision. On a
    width a player is that width's term g_k * pad(ReLU(LayerNorm(z[:w_k]))) of the layer's
    mixture, not the units that it has more than the width before. Options of a decision that are
    tagged `together` are one player: an edge that is there, whatever it is there for.

    Attributes:
        decisions: [players], whose options it has.
        options: for each player which of its decision's options, one or more.
        null: [players], booleans: who gives nothing but zeros, and so adds nothing.
        names: decision=option; the decision alone where one player is all that it has to give.
        groups: for each decision the players that compete there.
    """

    decisions: np.ndarray
    options: tuple[tuple[int, ...], ...]
    null: np.ndarray
    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]

    def rows(self, values: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
        """Numbers by player as a row [options] for each decision; 0 for who does not play.

        All options of a player have its number.
        """
        rows = [np.zeros(size) for size in sizes]
        for decision, options, value in zip(self.decisions, self.options, values, strict=True):
            rows[decision][list(options)] = value
        return rows


def players_of(space: Space) -> Players:
    """Everybody who plays in a space."""
    decisions: list[int] = []
    options: list[tuple[int, ...]] = []
    null: list[bool] = []
    names: list[str] = []
    groups: list[tuple[int, ...]] = []
    parts = zip(
        space.decisions, mixable(space), silent(space), tagged(space, TOGETHER), strict=True
    )
    for i, (decision, mixed, zeros, together) in enumerate(parts):
        heard = mixed & ~zeros
        united = tuple(np.flatnonzero(heard & together).tolist())
        own: list[tuple[int, ...]] = [
            (k,) for k in np.flatnonzero(mixed).tolist() if k not in united
        ]
        own = sorted([*own, united] if united else own)
        groups.append(tuple(range(len(names), len(names) + len(own))))
        for some in own:
            decisions.append(i)
            options.append(some)
            null.append(bool(zeros[list(some)].all()))
            alone = some == united and len(united) == heard.sum()
            names.append(decision.name if alone else _name(decision, some))
    return Players(np.array(decisions), tuple(options), np.array(null), tuple(names), tuple(groups))


def _name(decision: Decision, options: Sequence[int]) -> str:
    return f"{decision.name}={'+'.join(decision.options[k].name for k in options)}"


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

    @property
    def shared(self) -> bool:
        """Whether several workers score coalitions that are asked for together."""
        return self._probe.workers.count > 1

    def renew(self) -> None:
        """The next batch."""
        self._batch = self._probe.valid_rows(self._judged_rows)

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        """Booleans [coalitions, players] -> scores [coalitions] on the batch as it is."""
        if self._batch is None:
            self.renew()
        assert self._batch is not None
        return self._probe.scores([self.gates(row) for row in coalitions], self._batch)

    def gates(self, coalition: np.ndarray) -> Gates:
        """The mixture of the players of a coalition [players]."""
        found = []
        for row, group in zip(self._rows, self._who.groups, strict=True):
            active = sorted(k for p in group if coalition[p] for k in self._who.options[p])
            found.append(Gate(tuple(active), row))
        return tuple(found)
