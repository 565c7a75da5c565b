from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import torch
from torch import Tensor, nn

from meritnas.families.darts.genotype import EDGES, NODES
from meritnas.families.drop_path import DropPath
from meritnas.families.image_size import ImageShape, halved
from meritnas.families.operations import (
    CHILD,
    NONE,
    FactorizedReduce,
    Norms,
    ReluConvNorm,
    make_operation,
)
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed


@dataclass(frozen=True)
class CellPlan:
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


def plan_cells(channels: int, cells: int, image: ImageShape, stem: str) -> tuple[CellPlan, ...]:
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
    """A child's cell: the operations of its present edges."""

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


class MixedDartsCell(nn.Module):
    """A supernet's cell; all its edges are `Mixed`."""

    def __init__(self, plan: CellPlan, edges: Sequence[Mixed], norms: Norms) -> None:
        super().__init__()
        self.inputs = Preprocess(plan, norms)
        self.edges = nn.ModuleList(edges)
        self._stride = 2 if plan.reduction else 1

    def forward(
        self, first: Tensor, second: Tensor, gates: Gates, memory: Memory = FORGETFUL
    ) -> Tensor:
        """Two outputs of earlier cells and 14 gates -> [n, 4 * channels, h, w]."""
        start = memory.recall(self, (first, second), partial(self.inputs, first, second))
        states: list[Tensor | None] = list(start)
        for number in range(NODES):
            incoming: list[Tensor] = []
            for i, (node, source) in enumerate(EDGES):
                if node != number:
                    continue
                before = states[source]
                if before is None:
                    continue
                run = partial(self.edges[i], before, gates[i])
                outputs = memory.recall((self, i), (before, gates[i]), run)
                if outputs is not None:
                    incoming.append(outputs)
            total = partial(reduce, torch.add, incoming)
            place = (self, "node", number)
            states.append(memory.recall(place, tuple(incoming), total) if incoming else None)
        return memory.recall((self, "all"), tuple(states), partial(self._joined, states))

    def _joined(self, states: Sequence[Tensor | None]) -> Tensor:
        """All nodes' channels, zeros for a node without inputs."""
        start = states[0]
        assert start is not None
        empty = zeros_after(start, self._stride)
        return torch.cat([empty if state is None else state for state in states[2:]], dim=1)


def zeros_after(inputs: Tensor, stride: int) -> Tensor:
    """What operations of this stride give where there are none: zeros."""
    return torch.zeros_like(inputs[:, :, ::stride, ::stride])


class DartsNetwork(nn.Module):
    """A child: stem, cells, global average pooling, a linear layer; perhaps an auxiliary head."""

    def __init__(
        self,
        stem: nn.ModuleList,
        cells: Sequence[DartsCell],
        outputs: nn.Linear,
        auxiliary: nn.Module | None,
        auxiliary_after: int,
    ) -> None:
        super().__init__()
        self.stem = stem
        self.cells = nn.ModuleList(cells)
        self.output = outputs
        self.auxiliary = auxiliary
        self._auxiliary_after = auxiliary_after

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


class DartsBody(nn.Module):
    """A supernet's network; each cell sees the gates of its decisions.

    Args:
        stem: as in a child.
        cells: the mixed cells.
        outputs: the linear layer.
        starts: for each cell the number of its first decision.
    """

    def __init__(
        self,
        stem: nn.ModuleList,
        cells: Sequence[MixedDartsCell],
        outputs: nn.Linear,
        starts: Sequence[int],
    ) -> None:
        super().__init__()
        self.stem = stem
        self.cells = nn.ModuleList(cells)
        self.output = outputs
        self._starts = tuple(starts)
        self.memory: Memory = FORGETFUL

    def forward(self, inputs: Tensor, gates: Gates) -> Tensor:
        """[n, channels, h, w] -> [n, classes]."""
        first, second = self.memory.recall(self, (inputs,), partial(self._begin, inputs))
        for number, (cell, start) in enumerate(zip(self.cells, self._starts, strict=True)):
            own = gates[start : start + len(EDGES)]
            memory = self.memory if self._may_stay(number) else FORGETFUL
            first, second = second, cell(first, second, own, memory)
        found: Tensor = self.output(second.mean(dim=(2, 3)))
        return found

    def _begin(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        return stem_states(self.stem, inputs.contiguous(memory_format=torch.channels_last))

    def _may_stay(self, number: int) -> bool:
        """Whether a cell's inputs may stay though a gate changes: one that no earlier cell has."""
        return number == 0 or set(self._starts[:number]) != set(self._starts)


def stem_states(stem: nn.ModuleList, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """The two inputs of the first cell."""
    first = stem[0](inputs)
    return first, (stem[1](first) if len(stem) > 1 else first)


def auxiliary_head(channels: int, size: int, classes: int, stem: str) -> nn.Sequential:
    """DARTS' second classifier, which helps to train deep networks.

    Its pooling leaves 2 by 2 pixels, by two overlapping windows of about five eighths of the map
    each way: windows of 5 at a distance of 3 on the 8 by 8 map of CIFAR's networks and of 5 at a
    distance of 2 on the 7 by 7 map of ImageNet's, as published. For ImageNet the norm after the
    last convolution is left out, as in DARTS.
    """
    window = min(size - 1, -(-5 * size // 8))
    last: list[nn.Module] = [nn.Conv2d(128, 768, 2, bias=False), CHILD(768), nn.ReLU()]
    if stem == "imagenet":
        del last[1]
    return nn.Sequential(
        nn.ReLU(),
        nn.AvgPool2d(window, size - window, count_include_pad=False),
        nn.Conv2d(channels, 128, 1, bias=False),
        CHILD(128),
        nn.ReLU(),
        *last,
        nn.Flatten(),
        nn.Linear(768, classes),
    )
