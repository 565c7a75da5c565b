"""The supernet of networks with cells and heads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from meritnas.families.fusion.child import scores
from meritnas.families.fusion.joint_child import ALL, CELLS, EACH, SUM, JointReader, together
from meritnas.families.fusion.plain_child import Answers
from meritnas.families.fusion.supernet import FusionBody, MixedFusionCell
from meritnas.families.fusion.text import NONE
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed


class RememberingJointReader(JointReader):
    """A reader that keeps what it gave for a batch, if its memory does."""

    def read(
        self, rows: Tensor, wanted: Collection[int], asked: Collection[int], memory: Memory
    ) -> tuple[list[Tensor | None], dict[int, Tensor]]:
        """Rows [n, width] -> the wanted features, None for others; the vectors that are asked."""
        numbers = sorted({*asked, *(self._features[k].modality for k in wanted)})
        parts = {
            m: memory.recall((self, m), (rows,), partial(self.parts, rows, m)) for m in numbers
        }
        features: list[Tensor | None] = [None] * len(self._features)
        for k in wanted:
            own = parts[self._features[k].modality][self._features[k].place]
            make = partial(self.reshaped, rows, k, own)
            features[k] = memory.recall((self, "feature", k), (rows,), make)
        vectors = {
            m: memory.recall((self, "vector", m), (rows,), partial(self.vector, rows, m, parts[m]))
            for m in asked
        }
        return features, vectors


@dataclass(frozen=True)
class TailPlan:
    """Where the decisions after those of cells are, and what their options are called.

    Attributes:
        parts: the decision on cells, and on each head, by its name.
        joined: that on what joins them.
        options: the names of all decisions' options.
    """

    parts: Mapping[str, int]
    joined: int
    options: Sequence[Sequence[str]]


class JointBody(nn.Module):
    """A supernet's network of cells and heads; what no gate wants is not computed.

    A part counts as much as those of its options that are not `none` weigh together. How parts
    learn is no matter of what they say: `sum` and `sum-each` are the same here, and share a weight.

    Args:
        reader: of rows.
        fusion: whose cells are taken.
        heads: by name, with an option for each width.
        plan: where their decisions are.
        outputs: how many numbers come out.
        answers: what these are.
        shape: of features in cells.
    """

    def __init__(
        self,
        reader: RememberingJointReader,
        fusion: FusionBody,
        heads: Mapping[str, Mixed],
        plan: TailPlan,
        outputs: int,
        answers: Answers,
        shape: tuple[int, int],
    ) -> None:
        super().__init__()
        self.reader = reader
        self.cells, self.norm, self.output = fusion.cells, fusion.norm, fusion.output
        self.heads = nn.ModuleDict(dict(heads))
        self._plan, self._outputs, self._answers, self._shape = plan, outputs, answers, shape
        self.memory: Memory = FORGETFUL

    def forward(self, rows: Tensor, gates: Gates) -> Tensor:
        """[n, width] -> [n, outputs]."""
        said = self._said(rows, gates)
        total = rows.new_zeros((len(rows), self._outputs))
        if not said:
            return total
        there = {name: self._there(rows, name) for name in said}
        counts = {name: there[name] * self._weight(gates, name) for name in said}
        gate, names = gates[self._plan.joined], self._plan.options[self._plan.joined]
        for way in dict.fromkeys(names[k].removesuffix(EACH) for k in gate.active):
            own = [k for k in gate.active if names[k].removesuffix(EACH) == way]
            # What parts say has its weight already: in a sum it counts once.
            weights = torch.stack(list((there if way == SUM else counts).values()), dim=1)
            found = together(list(said.values()), weights, way, self._answers)
            share = 1.0 if gate.weights is None else gate.weights[own].sum()
            total = total + share * found
        return total

    def _said(self, rows: Tensor, gates: Gates) -> dict[str, Tensor]:
        """What active parts say [n, outputs], each times its weight."""
        runs = bool(self._speaking(gates, CELLS))
        heads = [name for name in self._plan.parts if name != CELLS and self._speaking(gates, name)]
        asked = [int(name) for name in heads if name != ALL]
        if ALL in heads:
            asked = list(range(len(self.reader.widths)))
        count = len(self.reader.reshapes)
        read = {k for cell in self._cells() for k in cell.sources(gates) if k < count}
        states, vectors = self.reader.read(rows, read if runs else (), asked, self.memory)
        said: dict[str, Tensor] = {}
        if runs:
            said[CELLS] = self._of_cells(rows, states, gates) * self._weight(gates, CELLS)
        for name in heads:
            head = self.heads[name]
            assert isinstance(head, Mixed)
            read_by_it = self._every(vectors) if name == ALL else vectors[int(name)]
            found = head(read_by_it, gates[self._plan.parts[name]], memory=self.memory)
            assert found is not None
            said[name] = found
        return said

    def _there(self, rows: Tensor, name: str) -> Tensor:
        """Whether a sample has what a part reads, [n]: of some modality it always has enough."""
        if not name.isdigit():
            return torch.ones_like(rows[:, 0])
        return self.reader.there(rows, int(name)).to(rows.dtype)

    def _every(self, vectors: Mapping[int, Tensor]) -> Tensor:
        own = tuple(vectors.values())
        return self.memory.recall((self, "every"), own, partial(torch.cat, list(own), 1))

    def _of_cells(self, rows: Tensor, states: list[Tensor | None], gates: Gates) -> Tensor:
        memory, features = self.memory, len(states)
        empty = partial(rows.new_zeros, (len(rows), *self._shape))
        zeros = memory.recall((self, "zeros"), (rows,), empty)
        for cell in self._cells():
            states.append(cell(states, gates, zeros, memory))
        given = [state for state in states[features:] if state is not None]
        assert isinstance(self.output, nn.Linear)
        return scores(given, self.norm, self.output)

    def _speaking(self, gates: Gates, name: str) -> list[int]:
        """The active options of a part that are not `none`."""
        number = self._plan.parts[name]
        return [k for k in gates[number].active if self._plan.options[number][k] != NONE]

    def _weight(self, gates: Gates, name: str) -> Tensor | float:
        """How much a part counts."""
        weights = gates[self._plan.parts[name]].weights
        return 1.0 if weights is None else weights[self._speaking(gates, name)].sum()

    def _cells(self) -> list[MixedFusionCell]:
        return [cell for cell in self.cells if isinstance(cell, MixedFusionCell)]
