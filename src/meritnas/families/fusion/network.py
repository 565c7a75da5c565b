from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from meritnas.data.modalities.backbone_features import as_features
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.families.fusion.text import EITHER, CellPlan, ends
from meritnas.families.operations import Norms
from meritnas.space.rule import X, Y
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed


@dataclass(frozen=True)
class Feature:
    """Something that cells may read.

    Attributes:
        modality: whose it is, by number.
        place: which of its modality's features.
        shape: before it is brought to the cells' own.
    """

    modality: int
    place: int
    shape: Shape


class Reshape(nn.Module):
    """A feature of any shape -> [n, channels, length]; batch norm, ReLU and dropout.

    Maps and sequences are max-pooled to the length and mapped to the channels position by
    position. A vector becomes `length` learned views of itself (BM-NAS repeats one view).
    """

    def __init__(
        self, shape: Shape, channels: int, length: int, norms: Norms, dropout: float
    ) -> None:
        super().__init__()
        self._shape = (channels, length)
        self.pool: nn.Module = nn.Identity()
        self.map: nn.Module
        if len(shape) == 1:
            self.map = nn.Linear(shape[0], channels * length, bias=False)
        else:
            sides = grid(length)
            pools = (nn.AdaptiveMaxPool1d(length), nn.AdaptiveMaxPool2d(sides))
            self.pool = pools[len(shape) - 2]
            self.map = nn.Conv1d(shape[0], channels, 1, bias=False)
        self.norm = norms.sequence(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, feature: Tensor) -> Tensor:
        """[n, *shape] -> [n, channels, length]."""
        pooled = self.pool(feature)
        mapped = self.map(pooled.flatten(2) if pooled.dim() > 2 else pooled)
        found: Tensor = self.dropout(torch.relu(self.norm(mapped.reshape(-1, *self._shape))))
        return found


def grid(length: int) -> tuple[int, int]:
    """Two sides whose product is the length, as close to a square as there are."""
    side = max(a for a in range(1, math.isqrt(length) + 1) if length % a == 0)
    return side, length // side


class FeatureReader(nn.Module):
    """Rows of inputs -> the features that cells read, each [n, channels, length].

    What a sample lacks is exact zeros, whatever its columns hold.

    Args:
        layout: where the numbers of each modality stand in a row.
        features: what cells read.
        backbones: of modalities that have one, by number.
        channels: of all features.
        length: of all features.
        norms: how batch norms are made.
        dropout: the rate while training.
    """

    def __init__(
        self,
        layout: RowLayout,
        features: Sequence[Feature],
        backbones: Mapping[int, nn.Module],
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        super().__init__()
        self._layout = layout
        self._features = tuple(features)
        self.backbones = nn.ModuleDict({str(i): network for i, network in backbones.items()})
        self.reshapes = nn.ModuleList(
            Reshape(feature.shape, channels, length, norms, dropout) for feature in features
        )

    def forward(
        self, rows: Tensor, wanted: Collection[int] | None = None, memory: Memory = FORGETFUL
    ) -> list[Tensor | None]:
        """Rows [n, width] -> the wanted features, None for the others; all by default."""
        numbers = range(len(self._features)) if wanted is None else wanted
        modalities = {self._features[k].modality for k in numbers}
        parts = {
            m: memory.recall((self, m), (rows,), partial(self._parts, rows, m)) for m in modalities
        }
        found: list[Tensor | None] = []
        for k, feature in enumerate(self._features):
            if k not in numbers:
                found.append(None)
                continue
            make = partial(self._reshaped, rows, k, parts[feature.modality][feature.place])
            found.append(memory.recall((self, "feature", k), (rows,), make))
        return found

    def _parts(self, rows: Tensor, modality: int) -> list[Tensor]:
        """The features of a modality as they come in or from its backbone."""
        there = self._layout.present(rows, modality) > 0
        own = [
            feature.where(there.reshape(-1, *(1,) * (feature.dim() - 1)), 0)
            for feature in self._layout.features(rows, modality)
        ]
        if str(modality) not in self.backbones:
            return own
        found = self.backbones[str(modality)](*own)
        return as_features(found, self._layout.names[modality])

    def _reshaped(self, rows: Tensor, number: int, part: Tensor) -> Tensor:
        there = self._layout.present(rows, self._features[number].modality) > 0
        found: Tensor = self.reshapes[number](part) * there[:, None, None]
        return found


class _Cell(nn.Module):
    """What a child's cell and a supernet's have in common.

    Args:
        operations: of the steps.
        channels: of all that is read and given.
        length: of the same.
        norms: how norms are made.
        dropout: the rate while training.
    """

    def __init__(
        self,
        operations: Sequence[nn.Module],
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        super().__init__()
        self.steps = nn.ModuleList(nn.ModuleDict({"operation": o}) for o in operations)
        self.join: nn.Module = nn.Identity()
        if len(operations) > 1:
            self.join = nn.Sequential(
                nn.Conv1d(len(operations) * channels, channels, 1),
                norms.sequence(channels),
                nn.ReLU(),
                nn.Dropout(dropout),
            )
        self.norm = norms.layer(channels, length)

    def _finished(self, outputs: Sequence[Tensor], x: Tensor) -> Tensor:
        """The steps' outputs in one, plus x, normed."""
        found: Tensor = self.norm(self.join(torch.cat(list(outputs), dim=1)) + x)
        return found


class FusionCell(_Cell):
    """A child's cell: every step reads two states and fuses them.

    Args:
        inputs: which states of the network are x and y.
        pairs: for each step which of x, y and the steps before it reads.
        operations: of the steps.
        channels: of all that is read and given.
        length: of the same.
        norms: how norms are made.
        dropout: the rate while training.
    """

    def __init__(
        self,
        inputs: tuple[int, int],
        pairs: Sequence[tuple[int, int]],
        operations: Sequence[nn.Module],
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        super().__init__(operations, channels, length, norms, dropout)
        self.inputs = inputs
        self._pairs = tuple(pairs)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        states = [x, y]
        for step, (first, second) in zip(self.steps, self._pairs, strict=True):
            assert isinstance(step, nn.ModuleDict)
            states.append(step["operation"](states[first], states[second]))
        return self._finished(states[2:], x)


class FusionNetwork(nn.Module):
    """A child: features, cells, all cells' outputs side by side, layer norm, ReLU, linear layer.

    It has the layers of all features and runs those that its cells read.
    """

    def __init__(
        self,
        reader: FeatureReader,
        cells: Sequence[FusionCell],
        norm: nn.LayerNorm,
        output: nn.Linear,
    ) -> None:
        super().__init__()
        self.reader = reader
        self.cells = nn.ModuleList(cells)
        self.norm = norm
        self.output = output
        self._inputs = tuple(cell.inputs for cell in cells)

    def forward(self, rows: Tensor) -> Tensor:
        """[n, width] -> [n, outputs]."""
        features = len(self.reader.reshapes)
        wanted = sorted({k for pair in self._inputs for k in pair if k < features})
        states = self.reader(rows, wanted)
        for cell, (x, y) in zip(self.cells, self._inputs, strict=True):
            states.append(cell(states[x], states[y]))
        return scores(states[features:], self.norm, self.output)


def scores(cells: Sequence[Tensor], norm: nn.Module, output: nn.Module) -> Tensor:
    """Outputs [n, channels, length] of the cells -> [n, outputs]."""
    found: Tensor = output(torch.relu(norm(torch.cat(list(cells), dim=1))).flatten(1))
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


class MixedFusionCell(_Cell):
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
        done = partial(self._finished, inner[2:], x)
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
        reader: FeatureReader,
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


def child_cell(
    plan: CellPlan,
    names: Sequence[str],
    operations: Sequence[nn.Module],
    shape: tuple[int, int],
    norms: Norms,
    dropout: float,
) -> FusionCell:
    """The cell that these options, one for each decision of the network, choose.

    Args:
        plan: where the cell's decisions are.
        names: the chosen options.
        operations: of its steps, already made.
        shape: (channels, length).
        norms: how norms are made.
        dropout: the rate while training.
    """
    pairs = [ends([names[i] for i in step.edges]) for step in plan.steps]
    inputs = ends([names[i] for i in plan.edges])
    return FusionCell(inputs, pairs, operations, *shape, norms, dropout)
