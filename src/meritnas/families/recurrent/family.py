from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.family import Family, keep, seeded
from meritnas.families.node_text import NodeText
from meritnas.families.recurrent.cell import ACTIVATIONS, Cell, Edge, edges_of
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import ABSENT, PresentEdges
from meritnas.space.space import Space
from meritnas.supernet.gates import Gate, Gates, one_path

NONE = "none"
_MOST_NODES = 8
_WORDS_SPREAD = 0.1
_MAPS_SPREAD = 0.04


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
    only; `identity` is an activation and needs both.

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
        tags = {NONE: frozenset({ABSENT})}
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
            "params": CostTerms(words + output + 4 * square, single, pairs, "parameters"),
            "flops": CostTerms(output + 4 * square, single, pairs, "multiply-adds"),
        }

    def supernet(self, seed: int = 0) -> RecurrentSupernet:
        """Fresh shared weights of all edges."""
        with seeded(seed):
            return RecurrentSupernet(self)

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
            return RecurrentNetwork(self.vocabulary, self.width, self.edges, names, dropout)

    def restrict(self, kept: Sequence[np.ndarray]) -> RecurrentSpace:
        """The same cell with fewer activations to choose from."""
        return replace(self, options=keep(self.options, kept))


class _Language(nn.Module):
    """Embedding, the input's maps and the output layer: what all cells of a space have."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.words = nn.Embedding(vocabulary, width)
        nn.init.uniform_(self.words.weight, -_WORDS_SPREAD, _WORDS_SPREAD)
        self.from_words = _map(width, 2 * width)
        self.from_state = _map(width, 2 * width)
        self.output = nn.Linear(width, vocabulary)
        for param in self.output.parameters():
            nn.init.uniform_(param, -_WORDS_SPREAD, _WORDS_SPREAD)


class RecurrentNetwork(_Language):
    """A language model with one recurrent cell.

    Args:
        vocabulary: how many words there are.
        width: of embeddings, state and nodes.
        edges: (node, source) of each edge.
        names: the activation of each edge; `none` for an edge that is not there.
        dropout: the rate on embeddings and on the cell's outputs while training.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        edges: Sequence[tuple[int, int]],
        names: Sequence[str],
        dropout: float = 0.0,
    ) -> None:
        super().__init__(vocabulary, width)
        self._edges = tuple(edges)
        self._names = tuple(names)
        present = [i for i, name in enumerate(names) if name != NONE]
        self.gates = nn.ModuleDict({str(i): _map(width, width) for i in present})
        self.maps = nn.ModuleDict(
            {str(i): _map(width, width) for i in present if ACTIVATIONS[names[i]] is not None}
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        """Words [n, steps] from a fresh state -> scores [n, steps, vocabulary] of what follows."""
        return self.advance(inputs)[0]

    def advance(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(scores [n, steps, vocabulary], the state [n, width] after the last word)."""
        words = self.dropout(self.words(inputs))
        if state is None:
            state = words.new_zeros(len(inputs), self.width)
        outputs, state = self._cell().run(words, state)
        return self.output(self.dropout(outputs)), state

    def _cell(self) -> Cell:
        edges = [
            Edge(
                node,
                source,
                ((self._names[i], None),),
                self.get_parameter(f"gates.{i}.weight"),
                self.get_parameter(f"maps.{i}.weight") if str(i) in self.maps else None,
            )
            for i, (node, source) in enumerate(self._edges)
            if self._names[i] != NONE
        ]
        count = max(node for node, _ in self._edges)
        present = [sum(edge.node == number for edge in edges) for number in range(1, count + 1)]
        return Cell(count, edges, present, self.from_words.weight, self.from_state.weight)


class RecurrentSupernet(_Language):
    """The shared weights of a `RecurrentSpace`: two maps for each edge, for all activations."""

    def __init__(self, family: RecurrentSpace) -> None:
        super().__init__(family.vocabulary, family.width)
        self._edges = family.edges
        self._options = family.options
        self.gates = nn.ModuleDict(
            {str(i): _map(family.width, family.width) for i in range(len(self._edges))}
        )
        self.maps = nn.ModuleDict(
            {str(i): _map(family.width, family.width) for i in range(len(self._edges))}
        )

    def forward(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Words [n, steps] -> scores [n, steps, vocabulary] under gates, from a fresh state."""
        return self.advance(inputs, gates, weights)[0]

    def advance(
        self,
        inputs: Tensor,
        gates: Gates,
        weights: Mapping[str, Tensor] | None = None,
        state: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """(scores [n, steps, vocabulary], the state [n, width] after the last word)."""
        held = dict(self.named_parameters()) if weights is None else weights
        words = F.embedding(inputs, held["words.weight"])
        if state is None:
            state = words.new_zeros(len(inputs), self.width)
        outputs, state = self._cell(gates, held).run(words, state)
        return F.linear(outputs, held["output.weight"], held["output.bias"]), state

    def _cell(self, gates: Gates, held: Mapping[str, Tensor]) -> Cell:
        edges = []
        count = max(node for node, _ in self._edges)
        present: list[float | Tensor] = [0.0] * count
        for i, (node, source) in enumerate(self._edges):
            present[node - 1] = present[node - 1] + self._presence(i, gates[i])
            acts = self._acts(i, gates[i])
            if acts:
                gate = held[f"gates.{i}.weight"]
                map_ = held[f"maps.{i}.weight"] if _needs_map(acts) else None
                edges.append(Edge(node, source, acts, gate, map_))
        return Cell(count, edges, present, held["from_words.weight"], held["from_state.weight"])

    def _presence(self, i: int, gate: Gate) -> float | Tensor:
        """How much an edge counts in its node's mean: 1 less the weight of its absence."""
        for k in gate.active:
            if self._options[i][k] == NONE:
                return 0.0 if gate.weights is None else 1.0 - gate.weights[k]
        return 1.0

    def _acts(self, i: int, gate: Gate) -> list[tuple[str, Tensor | None]]:
        return [
            (self._options[i][k], None if gate.weights is None else gate.weights[k])
            for k in gate.active
            if self._options[i][k] != NONE
        ]

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        """Scores of several architectures on one batch."""
        return [self(inputs, one_path(row)) for row in picks]

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        """Words, input and output, and the maps that active activations need; all whole."""
        acts = [self._acts(i, gate) for i, gate in enumerate(gates)]
        names = ["words.weight", "from_words.weight", "from_state.weight"]
        names += ["output.weight", "output.bias"]
        names += [f"gates.{i}.weight" for i, own in enumerate(acts) if own]
        names += [f"maps.{i}.weight" for i, own in enumerate(acts) if _needs_map(own)]
        held = dict(self.named_parameters())
        return {name: tuple(held[name].shape) for name in names}

    def remembering(self) -> AbstractContextManager[None]:
        """Nothing stays as it was: every option takes part in every step."""
        return nullcontext()

    def whole(self) -> Gates | None:
        """None: there is no network of all activations."""
        return None

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """The weights of one architecture, named as in its child."""
        held = dict(self.named_parameters())
        return {name: held[name].detach().clone() for name in self.blocks(one_path(picks))}


def _needs_map(acts: Sequence[tuple[str, Tensor | None]]) -> bool:
    return any(ACTIVATIONS[name] is not None for name, _ in acts)


def _map(inputs: int, outputs: int) -> nn.Linear:
    linear = nn.Linear(inputs, outputs, bias=False)
    nn.init.uniform_(linear.weight, -_MAPS_SPREAD, _MAPS_SPREAD)
    return linear
