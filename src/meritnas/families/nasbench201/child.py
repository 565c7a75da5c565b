"""A network of NAS-Bench-201's cells."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from meritnas.families.drop_path import DropPath
from meritnas.families.operations import CHILD, NONE, Norms, ReluConvNorm, make_operation

EDGES = ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
"""(node, the node that its edge comes from), in the order of decisions and texts."""

STAGES = 3


class CellNetwork(nn.Sequential):
    """Three stages of equal cells, and a linear layer on what they give on average.

    Args:
        operations: on each of the six edges of a cell.
        colours: channels of images.
        channels: of the first stage.
        cells: in each stage.
        classes: how many numbers come out.
        drop_path: the share of what an edge gives that is left out while training.
    """

    def __init__(
        self,
        operations: Sequence[str],
        colours: int,
        channels: int,
        cells: int,
        classes: int,
        drop_path: float = 0.0,
    ) -> None:
        def cell(width: int) -> nn.Module:
            return Cell(operations, width, drop_path)

        super().__init__(skeleton(cell, colours, channels, cells, classes, CHILD))


def skeleton(
    make_cell: Callable[[int], nn.Module],
    colours: int,
    channels: int,
    cells: int,
    classes: int,
    norms: Norms,
) -> OrderedDict[str, nn.Module]:
    """All parts of a network in order: stem, stages with reductions between them, classifier."""
    parts: OrderedDict[str, nn.Module] = OrderedDict()
    width = channels
    conv = nn.Conv2d(colours, width, 3, padding=1, bias=False)
    parts["stem"] = nn.Sequential(OrderedDict(conv=conv, norm=norms(width)))
    for stage in range(1, STAGES + 1):
        if stage > 1:
            parts[f"reduce{stage - 1}"] = Residual(width, 2 * width, norms)
            width *= 2
        for number in range(1, cells + 1):
            parts[f"stage{stage}cell{number}"] = make_cell(width)
    parts["norm"] = norms(width)
    parts["relu"] = nn.ReLU()
    parts["pool"] = nn.AdaptiveAvgPool2d(1)
    parts["flat"] = nn.Flatten()
    parts["output"] = nn.Linear(width, classes)
    return parts


class Residual(nn.Module):
    """Half the size, twice the channels: two convolutions beside pooling and a 1x1 one."""

    def __init__(self, inputs: int, outputs: int, norms: Norms) -> None:
        super().__init__()
        self.first = ReluConvNorm(inputs, outputs, 3, 2, norms)
        self.second = ReluConvNorm(outputs, outputs, 3, 1, norms)
        self.pool = nn.AvgPool2d(2, 2, ceil_mode=True, count_include_pad=False)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, outputs, ceil(h / 2), ceil(w / 2)]."""
        found: Tensor = self.shortcut(self.pool(inputs)) + self.second(self.first(inputs))
        return found


class Cell(nn.Module):
    """A cell: one operation an edge, nothing where it is `none`."""

    def __init__(self, names: Sequence[str], channels: int, drop_path: float) -> None:
        super().__init__()
        self.edges = nn.ModuleDict(
            {
                str(i): make_operation(name, channels, 1, CHILD)
                for i, name in enumerate(names)
                if name != NONE
            }
        )
        self.drop_path = DropPath(drop_path)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, h, w] -> the same shape."""
        nodes = [inputs]
        for number in (1, 2, 3):
            total: Tensor | None = None
            for i, (node, source) in enumerate(EDGES):
                if node != number or str(i) not in self.edges:
                    continue
                operation = self.edges[str(i)]
                outputs = operation(nodes[source])
                if not isinstance(operation, nn.Identity):
                    outputs = self.drop_path(outputs)
                total = outputs if total is None else total + outputs
            # What reads a node without inputs gives a norm's bias at most; children leave it out.
            nodes.append(torch.zeros_like(inputs) if total is None else total)
        return nodes[-1]
