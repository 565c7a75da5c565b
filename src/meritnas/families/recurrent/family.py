"""The language models as a family: which activation on each edge of the recurrent cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.cell_words import short_cell, split_after
from meritnas.families.drawing import Drawing, Node, node_name
from meritnas.families.family import Absence, Family, keep, seeded
from meritnas.families.node_text import NodeText
from meritnas.families.recurrent.cell import ACTIVATIONS, NONE, edges_of
from meritnas.families.recurrent.child import RecurrentNetwork
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.recurrent.supernet import RecurrentSupernet
from meritnas.families.source import network_source
from meritnas.space.architecture import Architecture
from meritnas.space.decision import ZERO, Decision, Option
from meritnas.space.rule import ABSENT, PresentEdges
from meritnas.space.space import Space

_MOST_NODES = 8
_FORWARD = '''
    def forward(self, words: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Words [n, steps] -> (scores of what follows each, the state after the last one).

        State [n, {width}] is what a call before has given; None for a fresh one.
        """
        return self.advance(words, state)
'''


def recurrent_space(
    vocabulary: int, width: int = 300, nodes: int = 3, predecessors: int | None = None
) -> RecurrentSpace:
    """Cells of a language model: which activation on each edge (AdvantageNAS, section 5.3)?

    Args:
        vocabulary: how many words there are.
        width: of embeddings, state and nodes.
        nodes: intermediate nodes of the cell, each with edges from all before it.
        predecessors: how many of its edges a node keeps; None for all. 1, with 8 nodes, is the
            form of DARTS' recurrent search.
    """
    for name, value, most in (
        ("vocabulary", vocabulary, None),
        ("width", width, None),
        ("nodes", nodes, _MOST_NODES),
        ("predecessors", 1 if predecessors is None else predecessors, None),
    ):
        if value < 1 or (most is not None and value > most):
            bound = "" if most is None else f" and at most {most}"
            raise SpaceError(f"{name} must be at least 1{bound}, got {value}")
    names = tuple(ACTIVATIONS) if predecessors is None else (NONE, *ACTIVATIONS)
    if predecessors is not None and predecessors > 1:
        raise SpaceError(
            f"predecessors must be 1, as node 1 has one edge only, or None; got {predecessors}"
        )
    return RecurrentSpace(vocabulary, width, nodes, (names,) * len(edges_of(nodes)))


@dataclass(frozen=True)
class RecurrentSpace(Family):
    """The family behind `recurrent_space`; `options` holds the activations of every edge.

    A word's embedding and the state before it make node 0, each edge adds a gated activation, a
    node is the mean of its edges, the mean of all intermediate nodes is the output and the next
    state, and a linear layer scores the words that may follow. Maps have no biases.

    An edge's maps are shared by its activations. `zero` leaves x - c * x and needs the gate's map
    only; it is an option that gives zeros (its tag), since what is left is there whatever is
    chosen. `identity` is an activation and needs both.

    Costs, all of the child:
        params: sum(p.numel()).
        flops: multiply-adds for one word.
    """

    vocabulary: int
    width: int
    nodes_count: int
    options: tuple[tuple[str, ...], ...]

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """(node, the node that its edge comes from), in the order of decisions."""
        return edges_of(self.nodes_count)

    @cached_property
    def space(self) -> Space:
        """One decision for each edge: its activation."""
        tags = {NONE: frozenset({ABSENT}), ZERO: frozenset({ZERO})}
        decisions = tuple(
            Decision(
                f"edge{node}<-{source}",
                tuple(Option(name, tags.get(name, frozenset())) for name in names),
            )
            for (node, source), names in zip(self.edges, self.options, strict=True)
        )
        chosen = any(NONE in names for names in self.options)
        rule = PresentEdges(tuple(range(1, self.nodes_count + 1)), 1) if chosen else None
        return Space(decisions, NodeText("recurrent cell", self.edges, "tanh"), rule)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each node."""
        return tuple(
            tuple(i for i, (node, _) in enumerate(self.edges) if node == number)
            for number in range(1, self.nodes_count + 1)
        )

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Words, input and output cost the same always, an edge its maps."""
        square = self.width * self.width
        each = {name: square if act is None else 2 * square for name, act in ACTIVATIONS.items()}
        each[NONE] = 0
        single = tuple(np.array([each[name] for name in names]) for names in self.options)
        output = self.vocabulary * (self.width + 1)
        words = self.vocabulary * self.width
        pairs = (None,) * (len(single) - 1)
        return {
            "params": chain_terms(words + output + 4 * square, single, pairs, "parameters"),
            "flops": chain_terms(output + 4 * square, single, pairs, "multiply-adds"),
        }

    def supernet(self, seed: int = 0) -> RecurrentSupernet:
        """Fresh shared weights of all edges."""
        with seeded(seed):
            return RecurrentSupernet(self.vocabulary, self.width, self.edges, self.options)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> RecurrentNetwork:
        """The language model of one architecture; dropout is on embeddings and outputs."""
        if auxiliary:
            raise UsageError("language models have no auxiliary head; set auxiliary to 0")
        names = self.as_architecture(architecture).options
        self.space.picks(self.as_architecture(architecture))
        with seeded(seed):
            return RecurrentNetwork(**self._sizes(names), dropout=dropout)

    def restrict(self, kept: Sequence[np.ndarray]) -> RecurrentSpace:
        """The same cell with fewer activations to choose from."""
        return replace(self, options=keep(self.options, kept))

    def _sizes(self, names: Sequence[str]) -> dict[str, Any]:
        """What the model with these activations is made with."""
        return {
            "vocabulary": self.vocabulary,
            "width": self.width,
            "edges": list(self.edges),
            "names": list(names),
        }

    @property
    def spec(self) -> Recurrent:
        """Width, nodes and edges as they are here."""
        one = 1 if NONE in self.options[0] else None
        return Recurrent(width=self.width, nodes=self.nodes_count, predecessors=one)

    @property
    def absence(self) -> Absence:
        """An edge without an activation still passes on what it reads, as far as its gate lets."""
        return Absence(None, "no activation")

    def lines(self, architecture: Architecture | str) -> list[str]:
        """A node a line."""
        return split_after(self.as_architecture(architecture).text, "+")

    def short(self, architecture: Architecture | str) -> str:
        """`tanh|zero iden`."""
        return short_cell(self.edges, self.as_architecture(architecture).options)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """The cell: node 0 is word and state, a node the mean of its edges."""
        read: dict[int, list[tuple[str, str]]] = {n + 1: [] for n in range(self.nodes_count)}
        options = self.as_architecture(architecture).options
        for (node, source), name in zip(self.edges, options, strict=True):
            if name != NONE:
                read[node].append((node_name(source), name))
        nodes = tuple(
            Node(node_name(number), tuple(edges), "mean" if len(edges) > 1 else "")
            for number, edges in read.items()
        )
        output = Node("output", tuple((node.name, "") for node in nodes), "mean")
        title = "recurrent cell; node 0 is the word and the state before"
        return (Drawing(title, (node_name(0),), (*nodes, output)),)

    def source(self, architecture: Architecture | str) -> str:
        """The cell, the model of it, and the activations that the cell has."""
        found = self.as_architecture(architecture)
        about = f"Words [n, steps] -> scores [n, steps, {self.vocabulary}]."
        methods = _FORWARD.format(width=self.width)
        return network_source(
            RecurrentNetwork, self._sizes(found.options), found.text, about, methods
        )
