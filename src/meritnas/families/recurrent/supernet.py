"""The shared weights of language models: two maps for each edge, for all activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.families.recurrent.cell import ACTIVATIONS, NONE, Cell, Edge
from meritnas.families.recurrent.child import make_map, make_output
from meritnas.families.recurrent.known_cells import KNOWN, WEIGHTS, KnownCell
from meritnas.families.recurrent.text import CELL
from meritnas.supernet.gates import Gate, Gates, one_path


class RecurrentSupernet(nn.Module):
    """The shared weights of a `RecurrentSpace`.

    A gate's weights multiply activations; an edge's highway has weight one, less that of `none`.
    So an edge without active options is one whose activation is `zero`.

    Where there are several updates each has weights and a state of its own, and outputs are the
    weighted sum of what the active ones give: none gives zeros. What is carried on is all states
    side by side; that of an update which did not run begins anew.

    Args:
        vocabulary: how many words there are.
        width: of embeddings, states and nodes.
        edges: (node, source) of each edge.
        options: the activations that each edge chooses from.
        updates: what the first decision chooses from; empty where there is no such decision and
            the cell is all there is.
        dropout: the rate on embeddings and on outputs where there will be gradients, in weight
            steps and where beliefs learn from derivatives; networks that are only judged are whole.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        edges: tuple[tuple[int, int], ...],
        options: tuple[tuple[str, ...], ...],
        updates: tuple[str, ...] = (),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.width = width
        self._dropout = dropout
        self._edges = edges
        self._options = options
        self._chosen = bool(updates)
        self._updates = updates or (CELL,)
        cell = CELL in self._updates
        self.words = nn.Embedding(vocabulary, width)
        if cell:
            self.from_words = make_map(width, 2 * width)
            self.from_state = make_map(width, 2 * width)
        self.output = make_output(width, vocabulary)
        numbers = range(len(edges)) if cell else ()
        self.gates = nn.ModuleDict({str(i): make_map(width, width) for i in numbers})
        self.maps = nn.ModuleDict({str(i): make_map(width, width) for i in numbers})
        known = [name for name in self._updates if name != CELL]
        self.known = nn.ModuleDict({name: KnownCell(name, width) for name in known})

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
        """(scores [n, steps, vocabulary], all states [n, widths] after the last word)."""
        held = dict(self.named_parameters()) if weights is None else weights
        update, edges = self._split(gates)
        if state is None:
            state = held["output.bias"].new_zeros(len(inputs), self.remembered)
        states = state.split(self._widths, dim=1)
        after = [torch.zeros_like(before) for before in states]
        outputs: Tensor | None = None
        for k in update.active:
            words = self._dropped(F.embedding(inputs, held["words.weight"]))
            own, after[k] = self._run(self._updates[k], edges, held, words, states[k])
            if update.weights is not None:
                own = update.weights[k] * own
            outputs = own if outputs is None else outputs + own
        if outputs is None:
            outputs = state.new_zeros(*inputs.shape, self.width)
        scores = F.linear(self._dropped(outputs), held["output.weight"], held["output.bias"])
        return scores, torch.cat(after, dim=1)

    def _dropped(self, values: Tensor) -> Tensor:
        if not self._dropout or not torch.is_grad_enabled():
            return values
        return F.dropout(values, self._dropout)

    def _split(self, gates: Gates) -> tuple[Gate, Gates]:
        """The gate of updates, and those of edges."""
        return (gates[0], gates[1:]) if self._chosen else (Gate((0,)), gates)

    @property
    def remembered(self) -> int:
        """How many numbers the states of all updates have together."""
        return sum(self._widths)

    @property
    def _widths(self) -> list[int]:
        """Of the state of each update."""
        return [
            self.width if name == CELL else KNOWN[name].states * self.width
            for name in self._updates
        ]

    def _run(
        self, name: str, edges: Gates, held: Mapping[str, Tensor], words: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(outputs [n, steps, width], the state afterwards) of one update."""
        if name == CELL:
            return self._cell(edges, held).run(words, state)
        return KNOWN[name].run(words, state, [held[f"known.{name}.{part}"] for part in WEIGHTS])

    def _cell(self, gates: Gates, held: Mapping[str, Tensor]) -> Cell:
        edges = []
        count = max(node for node, _ in self._edges)
        present: list[float | Tensor] = [0.0] * count
        for i, (node, source) in enumerate(self._edges):
            presence = self._presence(i, gates[i])
            present[node - 1] = present[node - 1] + presence
            if self._runs(i, gates[i]):
                acts = self._acts(i, gates[i])
                part = presence if isinstance(presence, Tensor) else None
                gate = held[f"gates.{i}.weight"]
                map_ = held[f"maps.{i}.weight"] if _needs_map(acts) else None
                edges.append(Edge(node, source, acts, part, gate, map_))
        return Cell(count, edges, present, held["from_words.weight"], held["from_state.weight"])

    def _runs(self, i: int, gate: Gate) -> bool:
        """Whether an edge is there: with no activation at all it still passes its highway on."""
        return not gate.active or any(self._options[i][k] != NONE for k in gate.active)

    def _presence(self, i: int, gate: Gate) -> float | Tensor:
        """How much of an edge is there, and counts in its node's mean: 1 less `none`'s weight."""
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
        """Words, output, and of the active updates what they need; all whole.

        Of the cell these are the input's maps and the maps that active activations need.
        """
        update, edges = self._split(gates)
        active = [self._updates[k] for k in update.active]
        names = ["words.weight"] if active else []
        names += ["from_words.weight", "from_state.weight"] if CELL in active else []
        names += ["output.weight", "output.bias"]
        if CELL in active:
            acts = [self._acts(i, gate) for i, gate in enumerate(edges)]
            names += [f"gates.{i}.weight" for i, gate in enumerate(edges) if self._runs(i, gate)]
            names += [f"maps.{i}.weight" for i, own in enumerate(acts) if _needs_map(own)]
        known = [name for name in active if name != CELL]
        held = dict(self.named_parameters())
        names += [name for name in held if name.startswith(tuple(f"known.{one}." for one in known))]
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
        update, _ = self._split(one_path(picks))
        place = f"known.{self._updates[update.active[0]]}."
        own = self.blocks(one_path(picks))
        named = {name: name.replace(place, "cell.") for name in own}
        return {new: held[name].detach().clone() for name, new in named.items()}


def _needs_map(acts: Sequence[tuple[str, Tensor | None]]) -> bool:
    return any(ACTIVATIONS[name] is not None for name, _ in acts)
