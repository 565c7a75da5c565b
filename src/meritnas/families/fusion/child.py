"""A network that fuses the features of several modalities."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from meritnas.families.fusion.operations import make_fusion
from meritnas.families.fusion.reader import ModalityReader, Shape, make_backbones
from meritnas.families.operations import CHILD, Norms


class Feature(NamedTuple):
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


class FeatureReader(ModalityReader):
    """Rows of inputs -> the features that cells read, each [n, channels, length].

    What a sample lacks is exact zeros, whatever its columns hold.

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        features: what cells read.
        backbones: of modalities that have one, by number.
        channels: of all features.
        length: of all features.
        norms: how batch norms are made.
        dropout: the rate while training.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        features: Sequence[Feature],
        backbones: Mapping[int, nn.Module],
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        super().__init__(modalities, backbones)
        self._features = tuple(features)
        self.reshapes = nn.ModuleList(
            Reshape(feature.shape, channels, length, norms, dropout) for feature in features
        )

    def forward(self, rows: Tensor, wanted: Collection[int] | None = None) -> list[Tensor | None]:
        """Rows [n, width] -> the wanted features, None for the others; all by default."""
        numbers = range(len(self._features)) if wanted is None else wanted
        modalities = dict.fromkeys(self._features[k].modality for k in numbers)
        parts = {m: self.parts(rows, m) for m in modalities}
        return [
            self.reshaped(rows, k, parts[feature.modality][feature.place]) if k in numbers else None
            for k, feature in enumerate(self._features)
        ]

    def reshaped(self, rows: Tensor, number: int, part: Tensor) -> Tensor:
        """A feature as cells read it, from one of its modality's `parts`."""
        there = self.there(rows, self._features[number].modality)
        found: Tensor = self.reshapes[number](part) * there[:, None, None]
        return found


class CellParts(nn.Module):
    """What a cell of a network and one of a supernet have in common.

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

    def finished(self, outputs: Sequence[Tensor], x: Tensor) -> Tensor:
        """The steps' outputs in one, plus x, normed."""
        found: Tensor = self.norm(self.join(torch.cat(list(outputs), dim=1)) + x)
        return found


class CellOptions(NamedTuple):
    """What was chosen for a cell.

    Attributes:
        inputs: which two of all features and, after them, cells are its x and y.
        steps: of each the operation, and which two of x, y and the steps before it reads.
    """

    inputs: tuple[int, int]
    steps: Sequence[tuple[str, int, int]]


class FusionCell(CellParts):
    """A cell: every step reads two states and fuses them.

    Args:
        chosen: what it reads and does.
        make: name -> the operation.
        channels: of all that is read and given.
        length: of the same.
        norms: how norms are made.
        dropout: the rate while training.
    """

    def __init__(
        self,
        chosen: CellOptions,
        make: Callable[[str], nn.Module],
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        operations = [make(name) for name, _, _ in chosen.steps]
        super().__init__(operations, channels, length, norms, dropout)
        self.inputs = chosen.inputs
        self._pairs = tuple((first, second) for _, first, second in chosen.steps)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        states = [x, y]
        for step, (first, second) in zip(self.steps, self._pairs, strict=True):
            assert isinstance(step, nn.ModuleDict)
            states.append(step["operation"](states[first], states[second]))
        return self.finished(states[2:], x)


class FusionNetwork(nn.Module):
    """Features, cells, all cells' outputs side by side, layer norm, ReLU, a linear layer.

    It has the layers of all features and runs those that its cells read.

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        features: (modality by number, which of its features, shape) of all that cells may read.
        cells: (inputs, steps) of each, see `CellOptions`.
        channels: of features in cells.
        length: of features in cells.
        outputs: how many numbers come out.
        backbones: `conv`, or what makes one, of modalities that have one, by number.
        sparsity: (l1, l2, kernel, steps of FISTA) of sparse operations.
        dropout: the rate while training.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        features: Sequence[tuple[int, int, Shape]],
        cells: Sequence[tuple[tuple[int, int], Sequence[tuple[str, int, int]]]],
        channels: int,
        length: int,
        outputs: int,
        backbones: Mapping[int, str | Callable[[], nn.Module]],
        sparsity: tuple[float, float, int, int],
        dropout: float = 0.0,
    ) -> None:
        super().__init__()

        def make(name: str) -> nn.Module:
            return make_fusion(name, channels, length, CHILD, dropout, *sparsity)

        read = [Feature(*feature) for feature in features]
        sizes = (channels, length, CHILD, dropout)
        networks = make_backbones(backbones, modalities, CHILD)
        self.reader = FeatureReader(modalities, read, networks, *sizes)
        self.cells = nn.ModuleList(FusionCell(CellOptions(*cell), make, *sizes) for cell in cells)
        self.norm = CHILD.layer(len(cells) * channels, length)
        self.output = nn.Linear(len(cells) * channels * length, outputs)
        self._inputs = tuple(inputs for inputs, _ in cells)

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
