"""The language models as a family: which activation on each edge of the recurrent cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.cell_words import short_cell, split_after
from meritnas.families.drawing import Drawing, Node, node_name
from meritnas.families.family import Absence, Running, keep, seeded
from meritnas.families.latency import Device
from meritnas.families.node_text import NodeText
from meritnas.families.recurrent.cell import ACTIVATIONS, NONE, edges_of
from meritnas.families.recurrent.child import RecurrentNetwork
from meritnas.families.recurrent.costs import counted_costs, timed_terms
from meritnas.families.recurrent.known_cells import KNOWN
from meritnas.families.recurrent.known_child import KnownNetwork
from meritnas.families.recurrent.peak import peak_cost
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.recurrent.supernet import RecurrentSupernet
from meritnas.families.recurrent.text import CELL, UpdateText
from meritnas.families.recurrent.unused_edges import UnusedEdges
from meritnas.families.source import network_source
from meritnas.families.timed import TimedFamily
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
    vocabulary: int,
    width: int = 300,
    nodes: int = 3,
    predecessors: int | None = None,
    known_cells: bool = True,
) -> RecurrentSpace:
    """Cells of a language model: which activation on each edge (AdvantageNAS, section 5.3)?

    Args:
        vocabulary: how many words there are.
        width: of embeddings, state and nodes.
        nodes: intermediate nodes of the cell, each with edges from all before it.
        predecessors: how many of its edges a node keeps; None for all. 1, with 8 nodes, is the
            form of DARTS' recurrent search.
        known_cells: whether a GRU and an LSTM of the same width are members, too; without them it
            is AdvantageNAS' space.
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
    updates = (CELL, *KNOWN) if known_cells else ()
    return RecurrentSpace(vocabulary, width, nodes, (names,) * len(edges_of(nodes)), updates)


@dataclass(frozen=True)
class RecurrentSpace(TimedFamily):
    """The family behind `recurrent_space`; `options` holds the activations of every edge.

    A word's embedding and the state before it make node 0, each edge adds a gated activation, a
    node is the mean of its edges, the mean of all intermediate nodes is the output and the next
    state, and a linear layer scores the words that may follow. Maps have no biases.

    An edge's maps are shared by its activations. `zero` leaves x - c * x and needs the gate's map
    only; it is an option that gives zeros (its tag), since what is left is there whatever is
    chosen. `identity` is an activation and needs both.

    A GRU or an LSTM of the same width may take the cell's place. They have biases, as torch's own,
    and no edges: decisions about these are `zero` then, or `none` where edges can be absent.

    Costs, all of the child:
        params: sum(p.numel()).
        flops: multiply-adds of all maps for one word.
        size: bytes of the file of weights, at most.
        latency: microseconds for one word, where `timed` has measured them.
        peak: bytes of activations that one word takes at once (`families.live_memory`).

    Attributes:
        vocabulary: how many words there are.
        width: of embeddings, state and nodes.
        nodes_count: intermediate nodes of the cell.
        options: the activations that each edge chooses from.
        updates: `cell` and names of known cells, which the first decision chooses from; empty for
            no such decision and the cell always.
    """

    explained: ClassVar[str] = (
        "search the space recurrent as it is by default to have them explained"
    )

    vocabulary: int
    width: int
    nodes_count: int
    options: tuple[tuple[str, ...], ...]
    updates: tuple[str, ...] = ()

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """(node, the node that its edge comes from), in the order of decisions."""
        return edges_of(self.nodes_count)

    @cached_property
    def space(self) -> Space:
        """The update, where there are several, and for each edge its activation."""
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
        text = NodeText("recurrent cell", self.edges, "tanh")
        if not self.updates:
            return Space(decisions, text, rule)
        update = Decision("update", tuple(map(Option, self.updates)))
        unused = NONE if chosen else ZERO
        return Space((update, *decisions), UpdateText(text, unused), UnusedEdges(unused, rule))

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each node."""
        first = len(self.space.decisions) - len(self.edges)
        return tuple(
            tuple(first + i for i, (node, _) in enumerate(self.edges) if node == number)
            for number in range(1, self.nodes_count + 1)
        )

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Words and output cost the same always, an update and the edges of a cell their maps."""
        return {**counted_costs(self), **self.timed_costs}

    def timed(self, device: Device = "cpu") -> RecurrentSpace:
        """With a latency for every network."""
        return self.with_latency(timed_terms(self, device))

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self))

    def supernet(self, seed: int = 0, dropout: float = 0.0) -> RecurrentSupernet:
        """Fresh shared weights of all edges; dropout is on embeddings and outputs."""
        sizes = self.vocabulary, self.width, self.edges, self.options, self.updates
        with seeded(seed):
            return RecurrentSupernet(*sizes, dropout)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> RecurrentNetwork | KnownNetwork:
        """The language model of one architecture; dropout is on embeddings and outputs."""
        if auxiliary:
            raise UsageError("language models have no auxiliary head; set auxiliary to 0")
        found = self.as_architecture(architecture)
        self.space.picks(found)
        make, arguments = self._made(found)
        with seeded(seed):
            return make(**arguments, dropout=dropout)

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """The GRU and the LSTM, as far as they are members and keep the limits."""
        members = (self.parse(name) for name in KNOWN if name in self.updates)
        return tuple(one for one in members if self.fits(one, limits))

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One word, and the state that the words before it have left."""
        assert isinstance(module, RecurrentNetwork | KnownNetwork)
        word = torch.zeros(1, 1, dtype=torch.long, device=device)
        return Running(module.advance, (word, torch.zeros(1, module.width, device=device)))

    def restrict(self, kept: Sequence[np.ndarray]) -> RecurrentSpace:
        """The same cells with less to choose from."""
        latency = self.restricted_latency(kept)
        if not self.updates:
            return replace(self, options=keep(self.options, kept), latency=latency)
        updates, *options = keep((self.updates, *self.options), kept)
        return replace(self, options=tuple(options), updates=updates, latency=latency)

    def _update(self, architecture: Architecture) -> tuple[str, tuple[str, ...]]:
        """(update, options of edges) of an architecture."""
        names = architecture.options
        return (names[0], names[1:]) if self.updates else (CELL, names)

    def _made(
        self, architecture: Architecture
    ) -> tuple[type[RecurrentNetwork] | type[KnownNetwork], dict[str, Any]]:
        """The class of a model, and what it is made with."""
        update, names = self._update(architecture)
        sizes: dict[str, Any] = {"vocabulary": self.vocabulary, "width": self.width}
        if update == CELL:
            return RecurrentNetwork, {**sizes, "edges": list(self.edges), "names": list(names)}
        return KnownNetwork, {**sizes, "kind": update}

    @property
    def spec(self) -> Recurrent:
        """Width, nodes and edges as they are here."""
        one = 1 if NONE in self.options[0] else None
        return Recurrent(self.width, self.nodes_count, one, known_cells=bool(self.updates))

    @property
    def parts(self) -> tuple[int, ...]:
        """The edges: without an update there is no network."""
        return tuple(i for node in self.nodes for i in node)

    @property
    def absence(self) -> Absence:
        """An edge without an activation still passes on what it reads, as far as its gate lets."""
        return Absence(None, "no activation")

    def lines(self, architecture: Architecture | str) -> list[str]:
        """A node a line."""
        return split_after(self.as_architecture(architecture).text, "+")

    def short(self, architecture: Architecture | str) -> str:
        """`tanh|zero iden` or `gru`."""
        update, names = self._update(self.as_architecture(architecture))
        return short_cell(self.edges, names) if update == CELL else update

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """The cell: node 0 is word and state, a node the mean of its edges."""
        update, options = self._update(self.as_architecture(architecture))
        if update != CELL:
            inputs = ("word", "state before")
            output = Node("output", tuple((name, "") for name in inputs), update)
            return (Drawing(f"recurrent cell: {update}", inputs, (output,)),)
        read: dict[int, list[tuple[str, str]]] = {n + 1: [] for n in range(self.nodes_count)}
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
        update, _ = self._update(found)
        states = 1 if update == CELL else KNOWN[update].states
        methods = _FORWARD.format(width=states * self.width)
        make, arguments = self._made(found)
        return network_source(make, arguments, found.text, about, methods)
