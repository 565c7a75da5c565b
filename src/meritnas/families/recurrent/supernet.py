"""The shared weights of language models: two maps for each edge, for all activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.families.recurrent.cell import ACTIVATIONS, NONE, Cell, Edge
from meritnas.families.recurrent.child import Language, make_map
from meritnas.supernet.gates import Gate, Gates, one_path


class RecurrentSupernet(Language):
    """The shared weights of a `RecurrentSpace`.

    A gate's weights multiply activations; an edge's highway has weight one, less that of `none`.
    So an edge without active options is one whose activation is `zero`.

    Args:
        vocabulary: how many words there are.
        width: of embeddings, state and nodes.
        edges: (node, source) of each edge.
        options: the activations that each edge chooses from.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        edges: tuple[tuple[int, int], ...],
        options: tuple[tuple[str, ...], ...],
    ) -> None:
        super().__init__(vocabulary, width)
        self._edges = edges
        self._options = options
        self.gates = nn.ModuleDict(
            {str(i): make_map(width, width) for i in range(len(self._edges))}
        )
        self.maps = nn.ModuleDict({str(i): make_map(width, width) for i in range(len(self._edges))})

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
        """Words, input and output, and the maps that active activations need; all whole."""
        acts = [self._acts(i, gate) for i, gate in enumerate(gates)]
        names = ["words.weight", "from_words.weight", "from_state.weight"]
        names += ["output.weight", "output.bias"]
        names += [f"gates.{i}.weight" for i, gate in enumerate(gates) if self._runs(i, gate)]
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
