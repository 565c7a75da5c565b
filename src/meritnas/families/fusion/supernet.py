"""The parts of a supernet for several modalities that a network does not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from torch import Tensor, nn

from meritnas.families.fusion.child import CellParts, FeatureReader, scores
from meritnas.families.fusion.text import EITHER, CellPlan
from meritnas.families.operations import Norms
from meritnas.space.rule import X, Y
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed


class RememberingReader(FeatureReader):
    """A reader that keeps what it gave for a batch, if its memory does."""

    def forward(
        self,
        rows: Tensor,
        wanted: Collection[int] | None = None,
        memory: Memory = FORGETFUL,
    ) -> list[Tensor | None]:
        """Rows [n, width] -> the wanted features, None for the others; all by default."""
        numbers = range(len(self._features)) if wanted is None else wanted
        modalities = {self._features[k].modality for k in numbers}
        parts = {
            m: memory.recall((self, m), (rows,), partial(self.parts, rows, m)) for m in modalities
        }
        found: list[Tensor | None] = []
        for k, feature in enumerate(self._features):
            if k not in numbers:
                found.append(None)
                continue
            make = partial(self.reshaped, rows, k, parts[feature.modality][feature.place])
            found.append(memory.recall((self, "feature", k), (rows,), make))
        return found


@dataclass(frozen=True)
class _Term:
    """One summand of a node's input: a state times an entry of a gate's weights."""

    state: Tensor
    weights: Tensor | None
    option: int

    @property
    def weight(self) -> float:
        return 1.0 if self.weights is None else float(self.weights[self.option].detach())


class MixedFusionCell(CellParts):
    """A supernet's cell: x, y and what steps read are weighted sums, operations are `Mixed`.

    An edge answered by `x` or `y` adds its state to that input. One answered by `skip` adds it to
    both, which makes them the same (BM-NAS), unless exactly two edges have weight one and all
    others zero: such gates are an architecture, whose first edge is x and whose second is y.

    Args:
        plan: where its decisions are.
        options: the names of all decisions' options.
        operations: of the steps.
        channels: of all that is read and given.
        length: of the same.
        norms: how norms are made.
    """

    def __init__(
        self,
        plan: CellPlan,
        options: Sequence[Sequence[str]],
        operations: Sequence[Mixed],
        channels: int,
        length: int,
        norms: Norms,
    ) -> None:
        super().__init__(operations, channels, length, norms, 0.0)
        self._plan = plan
        self._options = tuple(tuple(row) for row in options)

    def sources(self, gates: Gates) -> set[int]:
        """The states of the network that these gates let in."""
        return {
            source
            for source, i in enumerate(self._plan.edges)
            if any(self._options[i][k] in (X, Y, EITHER) for k in gates[i].active)
        }

    def forward(
        self,
        states: Sequence[Tensor | None],
        gates: Gates,
        zeros: Tensor,
        memory: Memory = FORGETFUL,
    ) -> Tensor:
        """States [n, channels, length] of the network -> the same; `zeros` where nothing is."""
        x, y = self._pair("inputs", states, self._plan.edges, gates, zeros, memory)
        inner: list[Tensor] = [x, y]
        for number, (plan, step) in enumerate(zip(self._plan.steps, self.steps, strict=True)):
            assert isinstance(step, nn.ModuleDict)
            first, second = self._pair(number, inner, plan.edges, gates, zeros, memory)
            gate = gates[plan.operation]
            run = partial(step["operation"], first, gate, second, memory)
            found = memory.recall((self, "step", number), (first, second, gate), run)
            inner.append(zeros if found is None else found)
        done = partial(self.finished, inner[2:], x)
        return memory.recall((self, "all"), (*inner[2:], x), done)

    def _pair(
        self,
        node: int | Literal["inputs"],
        states: Sequence[Tensor | None],
        edges: Sequence[int],
        gates: Gates,
        zeros: Tensor,
        memory: Memory,
    ) -> tuple[Tensor, Tensor]:
        """What a node reads as x and as y."""
        terms: dict[str, list[_Term]] = {X: [], Y: [], EITHER: []}
        for state, i in zip(states, edges, strict=False):
            for k in gates[i].active:
                if self._options[i][k] in terms:
                    assert state is not None
                    terms[self._options[i][k]].append(_Term(state, gates[i].weights, k))
        ours = _parted(terms[EITHER]) if terms[EITHER] else (terms[X], terms[Y])
        found = []
        for role, own in zip((X, Y), ours, strict=True):
            made_from = tuple(part for t in own for part in (t.state, t.weights, t.option))
            total = partial(_total, own)
            place = (self, node, role)
            found.append(memory.recall(place, made_from, total) if own else zeros)
        return (found[0], found[0]) if ours[0] is ours[1] else (found[0], found[1])


def _parted(terms: list[_Term]) -> tuple[list[_Term], list[_Term]]:
    """The summands of x and of y, where edges feed both: see `MixedFusionCell`."""
    weights = [term.weight for term in terms]
    if weights.count(1.0) != 2 or weights.count(0.0) != len(weights) - 2:
        return terms, terms
    first = weights.index(1.0)
    second = weights.index(1.0, first + 1)
    return (
        [term for i, term in enumerate(terms) if i != second],
        [term for i, term in enumerate(terms) if i != first],
    )


def _total(terms: Sequence[_Term]) -> Tensor:
    total: Tensor | None = None
    for term in terms:
        part = term.state
        if term.weights is not None:
            part = part * term.weights[term.option]
        total = part if total is None else total + part
    assert total is not None
    return total


class FusionBody(nn.Module):
    """A supernet's network; features that no active edge reads are not computed."""

    def __init__(
        self,
        reader: RememberingReader,
        cells: Sequence[MixedFusionCell],
        norm: nn.LayerNorm,
        output: nn.Linear,
        shape: tuple[int, int],
    ) -> None:
        super().__init__()
        self.reader = reader
        self.cells = nn.ModuleList(cells)
        self.norm = norm
        self.output = output
        self._shape = shape
        self.memory: Memory = FORGETFUL

    def forward(self, rows: Tensor, gates: Gates) -> Tensor:
        """[n, width] -> [n, outputs]."""
        memory = self.memory
        features = len(self.reader.reshapes)
        wanted = {k for cell in self._cells() for k in cell.sources(gates) if k < features}
        states = self.reader(rows, wanted, memory)
        empty = partial(rows.new_zeros, (len(rows), *self._shape))
        zeros = memory.recall((self, "zeros"), (rows,), empty)
        for cell in self._cells():
            states.append(cell(states, gates, zeros, memory))
        return scores(states[features:], self.norm, self.output)

    def _cells(self) -> list[MixedFusionCell]:
        return [cell for cell in self.cells if isinstance(cell, MixedFusionCell)]
