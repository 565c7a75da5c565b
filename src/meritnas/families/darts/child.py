"""A network of DARTS' cells: its plan, its cells, the network itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from meritnas.families.drop_path import DropPath
from meritnas.families.operations import (
    CHILD,
    NONE,
    FactorizedReduce,
    Norms,
    ReluConvNorm,
    halved,
    make_operation,
)

NODES = 4
EDGES = tuple((node, source) for node in range(NODES) for source in range(node + 2))
"""(intermediate node, the state that its edge comes from: 0 and 1 are the cell's inputs, 2 is the
first node); node by node, sources ascending: 14 edges."""


class CellPlan(NamedTuple):
    """Where a cell stands in a DARTS network.

    Attributes:
        reduction: whether it halves the size; its edges from the inputs then have stride 2.
        channels: of each node; the cell's output has four times as many.
        before: channels of its two inputs.
        shrink: whether the first input is still of the size before a reduction.
        height: of the nodes' maps.
        width: of the nodes' maps.
    """

    reduction: bool
    channels: int
    before: tuple[int, int]
    shrink: bool
    height: int
    width: int

    def stride(self, edge: int) -> int:
        """Of an edge, counted from 0."""
        return 2 if self.reduction and EDGES[edge][1] < 2 else 1

    def edge_shape(self, edge: int) -> tuple[int, int, int]:
        """What an edge reads: (channels, height, width)."""
        scale = self.stride(edge)
        return self.channels, self.height * scale, self.width * scale


def plan_cells(
    channels: int, cells: int, image: tuple[int, int, int], stem: str
) -> tuple[CellPlan, ...]:
    """The cells of a network: reductions a third and two thirds of the way, where channels double.

    Args:
        channels: of the first cell.
        cells: how many.
        image: (channels, height, width) of what comes in.
        stem: `cifar` keeps the size, `imagenet` divides it by 8.
    """
    height, width = image[1:]
    if stem == "imagenet":
        for _ in range(3):
            height, width = halved(height), halved(width)
    before = (3 * channels, 3 * channels) if stem == "cifar" else (channels, channels)
    # The second input of the first cell is half the size of the first one after that stem.
    shrink = stem == "imagenet"
    plans = []
    for number in range(cells):
        reduction = number in (cells // 3, 2 * cells // 3)
        if reduction:
            channels, height, width = 2 * channels, halved(height), halved(width)
        plans.append(CellPlan(reduction, channels, before, shrink, height, width))
        before, shrink = (before[1], NODES * channels), reduction
    return tuple(plans)


def make_stem(kind: str, inputs: int, channels: int, norms: Norms) -> nn.ModuleList:
    """One module for both inputs of the first cell (CIFAR), or one for each (ImageNet)."""

    def conv(a: int, b: int, stride: int) -> nn.Conv2d:
        return nn.Conv2d(a, b, 3, stride, 1, bias=False)

    if kind == "cifar":
        return nn.ModuleList([nn.Sequential(conv(inputs, 3 * channels, 1), norms(3 * channels))])
    half = channels // 2
    first = nn.Sequential(
        conv(inputs, half, 2), norms(half), nn.ReLU(), conv(half, channels, 2), norms(channels)
    )
    return nn.ModuleList(
        [first, nn.Sequential(nn.ReLU(), conv(channels, channels, 2), norms(channels))]
    )


class Preprocess(nn.Module):
    """Brings a cell's two inputs to its channels and to one size."""

    def __init__(self, plan: CellPlan, norms: Norms) -> None:
        super().__init__()
        first, second = plan.before
        self.first = (
            FactorizedReduce(first, plan.channels, norms)
            if plan.shrink
            else ReluConvNorm(first, plan.channels, 1, 1, norms)
        )
        self.second = ReluConvNorm(second, plan.channels, 1, 1, norms)

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Two states [n, channels, h, w]."""
        return self.first(first), self.second(second)


class DartsCell(nn.Module):
    """A cell: the operations of its present edges."""

    def __init__(self, plan: CellPlan, names: Sequence[str], drop_path: float) -> None:
        super().__init__()
        self.inputs = Preprocess(plan, CHILD)
        self.edges = nn.ModuleDict(
            {
                str(i): make_operation(name, plan.channels, plan.stride(i), CHILD)
                for i, name in enumerate(names)
                if name != NONE
            }
        )
        self.drop_path = DropPath(drop_path)
        self._stride = 2 if plan.reduction else 1

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Two outputs of earlier cells -> [n, 4 * channels, h, w]."""
        states = list(self.inputs(first, second))
        for number in range(NODES):
            total: Tensor | None = None
            for i, (node, source) in enumerate(EDGES):
                if node != number or str(i) not in self.edges:
                    continue
                operation = self.edges[str(i)]
                outputs = operation(states[source])
                if not isinstance(operation, nn.Identity):
                    outputs = self.drop_path(outputs)
                total = outputs if total is None else total + outputs
            states.append(zeros_after(states[0], self._stride) if total is None else total)
        return torch.cat(states[2:], dim=1)


def zeros_after(inputs: Tensor, stride: int) -> Tensor:
    """What operations of this stride give where there are none: zeros."""
    return torch.zeros_like(inputs[:, :, ::stride, ::stride])


class DartsNetwork(nn.Module):
    """Stem, cells that read the two before them, global average pooling, a linear layer.

    Args:
        operations: on each of the 14 edges of every kind of cell that there is.
        kinds: which of these every cell is.
        image: (channels, height, width) of what comes in.
        stem: `cifar` keeps the size of images, `imagenet` divides it by 8.
        channels: of the first cell.
        classes: how many numbers come out.
        drop_path: the share of what an edge gives that is left out while training.

    Attributes:
        auxiliary: a second classifier that helps to train, if somebody has added one.
    """

    def __init__(
        self,
        operations: Sequence[Sequence[str]],
        kinds: Sequence[int],
        image: tuple[int, int, int],
        stem: str,
        channels: int,
        classes: int,
        drop_path: float = 0.0,
    ) -> None:
        super().__init__()
        plans = plan_cells(channels, len(kinds), image, stem)
        self.stem = make_stem(stem, image[0], channels, CHILD)
        self.cells = nn.ModuleList(
            DartsCell(plan, operations[kind], drop_path)
            for plan, kind in zip(plans, kinds, strict=True)
        )
        self.output = nn.Linear(NODES * plans[-1].channels, classes)
        self.auxiliary: nn.Module | None = None
        self._auxiliary_after = 2 * len(kinds) // 3

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, h, w] -> [n, classes]."""
        return self._run(inputs)[0]

    def both(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs of the network and of its auxiliary head, which reads two thirds of it."""
        outputs, middle = self._run(inputs)
        assert self.auxiliary is not None
        return outputs, self.auxiliary(middle)

    def _run(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        first, second = stem_states(self.stem, inputs)
        middle = second
        for number, cell in enumerate(self.cells):
            first, second = second, cell(first, second)
            if number == self._auxiliary_after:
                middle = second
        return self.output(second.mean(dim=(2, 3))), middle


def stem_states(stem: nn.ModuleList, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """The two inputs of the first cell."""
    first = stem[0](inputs)
    return first, (stem[1](first) if len(stem) > 1 else first)
