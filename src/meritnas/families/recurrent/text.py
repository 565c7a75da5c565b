"""Language models as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.errors import SpaceError
from meritnas.families.node_text import NodeText
from meritnas.families.recurrent.known_cells import KNOWN

CELL = "cell"
"""The update whose edges are chosen: AdvantageNAS' cell."""


@dataclass(frozen=True)
class UpdateText:
    """`gru`, `lstm`, or the cell's edges: `|tanh~0|+|tanh~0|relu~1|`.

    Attributes:
        cell: how edges are written.
        unused: the option of edges where there are none.
    """

    cell: NodeText
    unused: str

    def format(self, options: Sequence[str]) -> str:
        """The edges where they have a meaning."""
        update, *edges = options
        return self.cell.format(edges) if update == CELL else update

    def parse(self, text: str) -> tuple[str, ...]:
        """The update, then the options of edges."""
        name = text.strip()
        if name in KNOWN:
            return name, *(self.unused,) * len(self.cell.edges)
        try:
            return CELL, *self.cell.parse(text)
        except SpaceError as error:
            raise SpaceError(f"{error}, or {' or '.join(KNOWN)}") from error
