"""The parts of a supernet of NAS-Bench-201's cells that a network does not have."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from meritnas.families.nasbench201.child import EDGES
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed


class MixedCell(nn.Module):
    """A supernet's cell. What leads nowhere is not run."""

    def __init__(self, edges: Sequence[Mixed]) -> None:
        super().__init__()
        self.edges = nn.ModuleList(edges)

    def forward(self, inputs: Tensor, gates: Gates, memory: Memory = FORGETFUL) -> Tensor:
        """[n, channels, h, w] -> the same shape."""
        nodes: list[Tensor | None] = [inputs, None, None, None]
        useful = self._useful(gates)
        for number in (1, 2, 3):
            incoming: list[Tensor] = []
            for i, (node, source) in enumerate(EDGES):
                before = nodes[source]
                if node == number and useful[i] and before is not None:
                    run = functools.partial(self.edges[i], before, gates[i])
                    incoming.append(memory.recall((self, i), (before, gates[i]), run))
            if incoming:
                total = functools.partial(functools.reduce, torch.add, incoming)
                nodes[number] = memory.recall((self, "node", number), tuple(incoming), total)
        return torch.zeros_like(inputs) if nodes[-1] is None else nodes[-1]

    def _useful(self, gates: Gates) -> list[bool]:
        """Which edges say something that reaches the last node."""
        heard = [False, False, False, True]
        useful = [False] * len(EDGES)
        for i in reversed(range(len(EDGES))):
            node, source = EDGES[i]
            edge = self.edges[i]
            assert isinstance(edge, Mixed)
            useful[i] = heard[node] and edge.speaks(gates[i])
            heard[source] = heard[source] or useful[i]
        return useful


class Body(nn.Module):
    """All parts in a row; cells also see the gates.

    Cells share their gates, so the first one is the only one whose inputs stay while gates change.
    """

    def __init__(self, parts: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.memory: Memory = FORGETFUL
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, inputs: Tensor, gates: Gates) -> Tensor:
        """[n, channels, h, w] -> [n, classes]."""
        stem, first, *rest = self.children()
        found = self.memory.recall(self, (inputs,), functools.partial(self._begin, stem, inputs))
        found = first(found, gates, self.memory)
        for part in rest:
            found = part(found, gates) if isinstance(part, MixedCell) else part(found)
        return found

    def _begin(self, stem: nn.Module, inputs: Tensor) -> Tensor:
        found: Tensor = stem(inputs.contiguous(memory_format=torch.channels_last))
        return found
