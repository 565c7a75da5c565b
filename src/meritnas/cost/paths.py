"""All paths of a diagram, one after the other."""

from __future__ import annotations

import numpy as np

from meritnas.cost.diagram import Diagram


def all_paths(diagram: Diagram) -> np.ndarray:
    """Every feasible architecture as a pick matrix [count, decisions]; count them first."""
    states = np.zeros(1, dtype=np.int64)
    read = np.zeros((1, 0), dtype=np.int64)
    for i, level in enumerate(diagram.levels):
        rows, options = np.nonzero(level[states] != diagram.states_after(i))
        read = np.column_stack([read[rows], options])
        states = level[states[rows], options]
    return read[:, np.argsort(diagram.order)]
