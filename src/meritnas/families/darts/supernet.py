"""The parts of a supernet of DARTS' cells that a network does not have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import torch
from torch import Tensor, nn

from meritnas.families.darts.child import (
    EDGES,
    NODES,
    CellPlan,
    Preprocess,
    stem_states,
    zeros_after,
)
from meritnas.families.operations import Norms
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed


class MixedDartsCell(nn.Module):
    """A supernet's cell; all its edges are `Mixed`."""

    def __init__(self, plan: CellPlan, edges: Sequence[Mixed], norms: Norms) -> None:
        super().__init__()
        self.inputs = Preprocess(plan, norms)
        self.edges = nn.ModuleList(edges)
        self._stride = 2 if plan.reduction else 1

    def forward(
        self, first: Tensor, second: Tensor, gates: Gates, memory: Memory = FORGETFUL
    ) -> Tensor:
        """Two outputs of earlier cells and 14 gates -> [n, 4 * channels, h, w]."""
        start = memory.recall(self, (first, second), partial(self.inputs, first, second))
        states: list[Tensor | None] = list(start)
        for number in range(NODES):
            incoming: list[Tensor] = []
            for i, (node, source) in enumerate(EDGES):
                if node != number:
                    continue
                before = states[source]
                if before is None:
                    continue
                run = partial(self.edges[i], before, gates[i])
                outputs = memory.recall((self, i), (before, gates[i]), run)
                if outputs is not None:
                    incoming.append(outputs)
            total = partial(reduce, torch.add, incoming)
            place = (self, "node", number)
            states.append(memory.recall(place, tuple(incoming), total) if incoming else None)
        return memory.recall((self, "all"), tuple(states), partial(self._joined, states))

    def _joined(self, states: Sequence[Tensor | None]) -> Tensor:
        """All nodes' channels, zeros for a node without inputs."""
        start = states[0]
        assert start is not None
        empty = zeros_after(start, self._stride)
        return torch.cat([empty if state is None else state for state in states[2:]], dim=1)


class DartsBody(nn.Module):
    """A supernet's network; each cell sees the gates of its decisions.

    Args:
        stem: as in a child.
        cells: the mixed cells.
        outputs: the linear layer.
        starts: for each cell the number of its first decision.
    """

    def __init__(
        self,
        stem: nn.ModuleList,
        cells: Sequence[MixedDartsCell],
        outputs: nn.Linear,
        starts: Sequence[int],
    ) -> None:
        super().__init__()
        self.stem = stem
        self.cells = nn.ModuleList(cells)
        self.output = outputs
        self._starts = tuple(starts)
        self.memory: Memory = FORGETFUL

    def forward(self, inputs: Tensor, gates: Gates) -> Tensor:
        """[n, channels, h, w] -> [n, classes]."""
        first, second = self.memory.recall(self, (inputs,), partial(self._begin, inputs))
        for number, (cell, start) in enumerate(zip(self.cells, self._starts, strict=True)):
            own = gates[start : start + len(EDGES)]
            memory = self.memory if self._may_stay(number) else FORGETFUL
            first, second = second, cell(first, second, own, memory)
        found: Tensor = self.output(second.mean(dim=(2, 3)))
        return found

    def _begin(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        return stem_states(self.stem, inputs.contiguous(memory_format=torch.channels_last))

    def _may_stay(self, number: int) -> bool:
        """Whether a cell's inputs may stay though a gate changes: one that no earlier cell has."""
        return number == 0 or set(self._starts[:number]) != set(self._starts)
