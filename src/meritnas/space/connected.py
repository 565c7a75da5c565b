"""The rule that a way leads from the first node of a cell to its last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.space.decision import ZERO, Decision
from meritnas.space.rule import Levels, of_equal_size


@dataclass(frozen=True)
class Connected:
    """A way leads from the first node to the last, over edges that do not give zeros only.

    Attributes:
        edges: of each decision (node, the node that its edge comes from), in the order of nodes;
            nodes are counted from 0, which is what comes in.
    """

    edges: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return "a way must lead from what comes in to what goes out, over edges that are not zero"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """States are the sets of nodes that are reached so far, those that occur."""
        last = self.edges[-1][0]
        codes = np.zeros(1, dtype=np.int64)  # a bit for each node but the first
        found = []
        for i, (decision, (node, source)) in enumerate(zip(decisions, self.edges, strict=True)):
            passes = np.array([ZERO not in option.tags for option in decision.options])
            begins = (codes >> source & 1 == 1) | (source == 0)
            target = codes[:, None] | np.where(begins[:, None] & passes, 1 << node, 0)
            allowed = np.ones(target.shape, dtype=bool)
            if i == len(self.edges) - 1:
                allowed = target >> last & 1 == 1
                target = np.zeros_like(target)
            codes = np.unique(np.append(target[allowed], 0))
            found.append(np.where(allowed, np.searchsorted(codes, target), -1))
        return of_equal_size(found)
