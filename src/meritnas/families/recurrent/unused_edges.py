"""The rule of language models: which edges a GRU and an LSTM have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.families.recurrent.text import CELL
from meritnas.space.decision import Decision
from meritnas.space.rule import Levels, Rule


@dataclass(frozen=True)
class UnusedEdges:
    """Only the cell has edges; those of a GRU and an LSTM are not built.

    So that every network is written in one way, all of them have the same option then.

    Attributes:
        unused: its name.
        edges: the rule of the cell's edges; None where all go together.
    """

    unused: str
    edges: Rule | None

    def __str__(self) -> str:
        own = f"{CELL} alone has edges, those of other updates are {self.unused}"
        return own if self.edges is None else f"{own}, and in a {CELL} {self.edges}"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """The first decision is the update; the last state is that of having no edges."""
        update, *rest = decisions
        if self.edges is None:
            inside: Levels = tuple(np.zeros((1, len(one)), dtype=np.int64) for one in rest)
        else:
            inside = self.edges.levels(rest)
        without = len(inside[0])
        first = np.full((without + 1, len(update)), -1, dtype=np.int64)
        first[0] = [0 if option.name == CELL else without for option in update.options]
        found = [first]
        for level, decision in zip(inside, rest, strict=True):
            unused = [option.name == self.unused for option in decision.options]
            found.append(np.vstack([level, np.where(unused, without, -1)]))
        found[-1][without] = np.minimum(found[-1][without], 0)
        return tuple(found)
