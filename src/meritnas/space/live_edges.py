"""The rule that every operation of a cell lies on a way through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.space.decision import ZERO, Decision
from meritnas.space.rule import Levels, of_equal_size

Edges = Sequence[tuple[int, int]]
"""(node, the node that its edge comes from), in the order of nodes; node 0 is what comes in, the
node of the last edge what goes out."""


@dataclass(frozen=True)
class LiveEdges:
    """A way leads from the first node to the last, and every edge that is not zero lies on one.

    An edge that lies on none is dead: what it gives reaches nothing, or what it reads says nothing
    of what came in. The cell without it is the same network and costs less, so nothing is lost
    where dead edges are not allowed; and what is left costs the sum of what its edges cost.

    Attributes:
        edges: of each decision, see `Edges`.
    """

    edges: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return (
            "a way must lead from what comes in to what goes out, and over every edge that is not "
            "zero"
        )

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """States say of each node between whether edges lead to it, and whether one leaves it.

        A node is either reached and left or neither. As nodes come in order, then every way back
        from an edge ends at the first node, and every way on from it at the last.
        """
        last = self.edges[-1][0]
        codes = np.zeros(1, dtype=np.int64)  # of each node but the first: reached, left
        found = []
        for i, (decision, (node, source)) in enumerate(zip(decisions, self.edges, strict=True)):
            there = np.array([ZERO not in option.tags for option in decision.options])
            begins = _reached(codes, source)
            marked = codes | _bit(node, 0) | (_bit(source, 1) if source else 0)
            target = np.where(there, marked[:, None], codes[:, None])
            allowed = begins[:, None] | ~there
            if i == len(self.edges) - 1:
                allowed &= _whole(target, last)
                target = np.zeros_like(target)
            codes = np.unique(np.append(target[allowed], 0))
            found.append(np.where(allowed, np.searchsorted(codes, target), -1))
        return of_equal_size(found)


def live_edges(edges: Edges, there: Sequence[bool]) -> tuple[bool, ...]:
    """Which edges lie on a way from the first node to the last.

    Args:
        edges: see `Edges`.
        there: of each, whether it gives anything but zeros.
    """
    reached, read = {0}, {edges[-1][0]}
    for (node, source), present in zip(edges, there, strict=True):
        if present and source in reached:
            reached.add(node)
    for (node, source), present in zip(reversed(edges), reversed(there), strict=True):
        if present and node in read:
            read.add(source)
    return tuple(
        present and source in reached and node in read
        for (node, source), present in zip(edges, there, strict=True)
    )


def _bit(node: int, which: int) -> int:
    """Of the code of a state: `which` is 0 for a node that is reached, 1 for one that is left."""
    return 1 << (2 * (node - 1) + which)


def _reached(codes: np.ndarray, node: int) -> np.ndarray:
    return np.ones(codes.shape, dtype=bool) if node == 0 else codes & _bit(node, 0) > 0


def _whole(codes: np.ndarray, last: int) -> np.ndarray:
    """Whether the last node is reached, and every other one is left if it is reached."""
    found = _reached(codes, last)
    for node in range(1, last):
        found = found & ((codes & _bit(node, 0) > 0) == (codes & _bit(node, 1) > 0))
    return found
