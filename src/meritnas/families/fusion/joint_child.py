"""A network for several modalities that fuses features and asks each modality by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from meritnas.families.fusion.child import (
    CellOptions,
    Feature,
    FeatureReader,
    FusionCell,
    scores,
)
from meritnas.families.fusion.operations import make_fusion
from meritnas.families.fusion.plain_child import (
    Answers,
    Head,
    averaged,
    make_pools,
    vector_of,
    vector_widths,
)
from meritnas.families.fusion.reader import Shape, make_backbones
from meritnas.families.operations import CHILD, Norms

ALL = "all"
"""The head that reads the vectors of all modalities."""

CELLS = "cells"
"""What cells are called beside heads."""

SUM = "sum"
MEAN = "mean"
EACH = "-each"
"""What follows the way in which parts are joined where heads learn the answers by themselves."""

_TINY = 1e-30


class JointReader(FeatureReader):
    """Rows of inputs -> features for cells, and a vector of each modality for heads.

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        features: what cells read.
        backbones: of modalities that have one, by number.
        last: the shape of the last feature that each of these gives.
        channels: of features in cells.
        length: of the same.
        norms: how batch norms are made.
        dropout: the rate while training.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        features: Sequence[Feature],
        backbones: Mapping[int, nn.Module],
        last: Mapping[int, Shape],
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        super().__init__(modalities, features, backbones, channels, length, norms, dropout)
        self.pools = make_pools(last)
        self.widths = vector_widths(modalities, last)

    def vector(self, rows: Tensor, number: int, parts: Sequence[Tensor]) -> Tensor:
        """A modality's vector from its `parts`: rows [n, width] -> [n, its width]."""
        return vector_of(parts, self.pools, number, self.there(rows, number))


class JointNetwork(nn.Module):
    """Cells and heads, each of which gives the answer; logits are summed or chances averaged.

    Cells, if there are any, are as in `FusionNetwork`. A modality's head reads its vector; the head
    `all` reads those of all. Only modalities that a sample has take part. Where heads learn by
    themselves, each has a loss of its own: beside that of the sum, or in place of that of the mean,
    whose parts do not need each other (see `outputs_of_each`).

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
        last: the shape of the last feature that each backbone gives.
        heads: units of the hidden layer of each head: by number of the modality, or `all`.
        joined: sum or mean, sum-each or mean-each.
        answers: what outputs are.
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
        last: Mapping[int, Shape],
        heads: Mapping[str, int],
        joined: str,
        answers: Answers,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()

        def make(name: str) -> nn.Module:
            return make_fusion(name, channels, length, CHILD, dropout, *sparsity)

        sizes = (channels, length, CHILD, dropout)
        networks = make_backbones(backbones, modalities, CHILD)
        self._features = [Feature(*feature) for feature in features] if cells else []
        self.reader = JointReader(modalities, self._features, networks, last, *sizes)
        self.cells = nn.ModuleList(FusionCell(CellOptions(*cell), make, *sizes) for cell in cells)
        if cells:
            self.norm = CHILD.layer(len(cells) * channels, length)
            self.output = nn.Linear(len(cells) * channels * length, outputs)
        widths = self.reader.widths
        self.heads = nn.ModuleDict(
            {
                name: Head(sum(widths) if name == ALL else widths[int(name)], *own)
                for name, own in ((n, (hidden, outputs, dropout)) for n, hidden in heads.items())
            }
        )
        self._inputs = tuple(inputs for inputs, _ in cells)
        self._joined, self._answers = joined, answers

    def forward(self, rows: Tensor) -> Tensor:
        """[n, width] -> [n, outputs]."""
        return self._together(rows, self._said(rows))

    def outputs_of_each(self, rows: Tensor) -> list[Tensor]:
        """What has a loss of its own while training: rows [n, width] -> [n, outputs] each."""
        said = self._said(rows)
        if not self._joined.endswith(EACH):
            return [self._together(rows, said)]
        if self._joined.startswith(MEAN):
            return list(said.values())
        return [self._together(rows, said), *(said[name] for name in self.heads)]

    def _together(self, rows: Tensor, said: Mapping[str, Tensor]) -> Tensor:
        there = [
            self.reader.there(rows, int(name)).to(rows.dtype)
            if name.isdigit()
            else torch.ones_like(rows[:, 0])  # not of their number, which a graph would keep
            for name in said
        ]
        way = self._joined.removesuffix(EACH)
        return together(list(said.values()), torch.stack(there, dim=1), way, self._answers)

    def _said(self, rows: Tensor) -> dict[str, Tensor]:
        """What each part says by itself [n, outputs]: cells, heads by their names."""
        features = len(self._features)
        wanted = sorted({k for pair in self._inputs for k in pair if k < features})
        asked = [int(name) for name in self.heads if name != ALL]
        if ALL in self.heads:
            asked = list(range(len(self.reader.widths)))
        numbers = sorted({*asked, *(self._features[k].modality for k in wanted)})
        parts = {number: self.reader.parts(rows, number) for number in numbers}
        said: dict[str, Tensor] = {}
        if self._inputs:
            states: list[Tensor | None] = [None] * features
            for k in wanted:
                own = parts[self._features[k].modality][self._features[k].place]
                states[k] = self.reader.reshaped(rows, k, own)
            for cell, (x, y) in zip(self.cells, self._inputs, strict=True):
                states.append(cell(states[x], states[y]))
            given = [state for state in states[features:] if state is not None]
            said[CELLS] = scores(given, self.norm, self.output)
        vectors = {number: self.reader.vector(rows, number, parts[number]) for number in asked}
        for name, head in self.heads.items():
            vector = torch.cat(list(vectors.values()), 1) if name == ALL else vectors[int(name)]
            said[name] = head(vector)
        return said


def together(said: Sequence[Tensor], weights: Tensor, way: str, answers: Answers) -> Tensor:
    """Outputs of several parts as one: the sum of those that count, or the mean of their chances.

    Args:
        said: by each part, [n, outputs].
        weights: how much each counts for a sample, [n, parts]; where none does, all do alike.
        way: sum or mean.
        answers: what outputs are.
    """
    every = torch.stack(list(said), dim=1)
    if way == SUM:
        return (every * weights[:, :, None]).sum(dim=1)
    weights = weights + (weights.sum(dim=1, keepdim=True) == 0)
    return averaged(every, weights / weights.sum(dim=1, keepdim=True).clamp_min(_TINY), answers)
