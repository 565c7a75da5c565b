"""A recurrent cell as it runs: edges with gates and activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

NONE = "none"
"""The option of an edge that is not there."""

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor] | None] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda units: units,
    "zero": None,
}
"""What an edge may do to what its map gives; None gives zeros, so that no map is needed."""


def edges_of(nodes: int) -> tuple[tuple[int, int], ...]:
    """(node, the node that its edge comes from) of a cell; node 0 is the cell's input."""
    return tuple((node, source) for node in range(1, nodes + 1) for source in range(node))


class Edge(NamedTuple):
    """One edge of a cell, as it runs.

    With x what it reads, c = sigmoid(W_c x) and act(W_h x) what its options make of x, its output
    is x - c * x + c * (the sum of g * act(W_h x) over options with weight g): for one option
    AdvantageNAS' appendix E. An option's weight multiplies its activation only, as in its authors'
    code, not the highway x - c * x, which is there whatever is chosen: if it were weighted, the
    slope of the loss by a weight would tell the highway's worth and not the activation's, and
    `zero` would not be an option that gives zeros.

    Attributes:
        node: where it leads.
        source: where it comes from.
        acts: names in `ACTIVATIONS`, and their weights, None for one; nothing gives zeros.
        presence: how much of the edge is there, highway included; None for all of it.
        gate: W_c [width, width].
        map: W_h [width, width], or None where no activation needs it.
    """

    node: int
    source: int
    acts: Sequence[tuple[str, Tensor | None]]
    presence: Tensor | None
    gate: Tensor
    map: Tensor | None

    def output(self, inputs: Tensor, opening: Tensor, mapped: Tensor | None) -> Tensor:
        """[n, width] from x, W_c x and W_h x, all [n, width]."""
        opened = torch.sigmoid(opening)
        kept = inputs - opened * inputs
        if self.presence is not None:
            kept = self.presence * kept
        total: Tensor | None = None
        for name, weight in self.acts:
            act = ACTIVATIONS[name]
            if act is None:
                continue
            assert mapped is not None
            units = act(mapped) if weight is None else weight * act(mapped)
            total = units if total is None else total + units
        return kept if total is None else torch.addcmul(kept, opened, total)


class Cell(NamedTuple):
    """The edges of a recurrent cell and the maps of its input.

    Attributes:
        nodes: how many intermediate nodes there are.
        edges: those that are there.
        present: how many edges each node has the mean of, from node 1 on.
        from_words: [2 * width, width], W_c and W_h of the input for the word.
        from_state: [2 * width, width], the same for the state.
    """

    nodes: int
    edges: Sequence[Edge]
    present: Sequence[float | Tensor]
    from_words: Tensor
    from_state: Tensor

    def run(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """(outputs, the state afterwards) of a window.

        All words go through the input's maps at once; what is left for every step are the
        maps of the state and those of each node, one product for all edges that leave it.

        Args:
            words: [n, steps, width].
            state: [n, width].

        Returns:
            Outputs [n, steps, width] and the last of them [n, width].
        """
        projected = F.linear(words, self.from_words).unbind(dim=1)
        leaving = [
            [edge for edge in self.edges if edge.source == number] for number in range(self.nodes)
        ]
        maps = [_stacked(edges) for edges in leaving]
        found = []
        for projection in projected:
            both = projection + F.linear(state, self.from_state)
            opening, mapped = both.to(state.dtype).chunk(2, dim=1)  # which may be half as precise
            first = torch.lerp(state, torch.tanh(mapped), torch.sigmoid(opening))
            state = self._nodes(first, leaving, maps)
            found.append(state)
        return torch.stack(found, dim=1), state

    def _nodes(
        self, first: Tensor, leaving: Sequence[Sequence[Edge]], maps: Sequence[Tensor | None]
    ) -> Tensor:
        """The mean of all intermediate nodes [n, width]."""
        width = first.shape[1]
        sums: list[Tensor | None] = [None] * self.nodes
        values: list[Tensor] = [first]
        for number in range(self.nodes):
            weight = maps[number]
            if weight is not None:
                inputs = values[number]
                parts = iter(F.linear(inputs, weight).split(width, dim=1))
                for edge in leaving[number]:
                    opening = next(parts)
                    mapped = None if edge.map is None else next(parts)
                    output = edge.output(inputs, opening, mapped)
                    before = sums[edge.node - 1]
                    sums[edge.node - 1] = output if before is None else before + output
            total, count = sums[number], self.present[number]
            values.append(torch.zeros_like(first) if total is None else total / count)
        return torch.stack(values[1:]).mean(dim=0)


def _stacked(edges: Sequence[Edge]) -> Tensor | None:
    """The maps of all edges that leave a node, one below the other."""
    rows = [part for edge in edges for part in (edge.gate, edge.map) if part is not None]
    return torch.cat(rows) if rows else None
