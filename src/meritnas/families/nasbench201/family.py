from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.drop_path import DropPath
from meritnas.families.family import Family, keep, seeded
from meritnas.families.image_size import ImageShape, check_image, halved
from meritnas.families.node_text import NodeText
from meritnas.families.operations import (
    CHILD,
    NONE,
    SEARCHED,
    SKELETON,
    SKIP,
    Norms,
    ReluConvNorm,
    make_operation,
)
from meritnas.space.architecture import Architecture
from meritnas.space.connected import Connected
from meritnas.space.decision import ZERO, Decision, Option
from meritnas.space.space import Space
from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.gates import Gates
from meritnas.supernet.memory import FORGETFUL, Memory
from meritnas.supernet.mixed import Mixed

OPERATIONS = (NONE, SKIP, "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
"""(node, the node that its edge comes from), in the order of decisions and texts."""

STAGES = 3


def nasbench201_space(
    classes: int = 10,
    channels: int = 16,
    cells: int = 5,
    zero: bool = True,
    image: ImageShape = (3, 32, 32),
) -> Nasbench201Space:
    """Cells of six edges: which operation on each edge (NAS-Bench-201, Dong and Yang 2020)?

    Args:
        classes: the number of outputs; one where there are two classes.
        channels: of the first of three stages; they double from stage to stage.
        cells: in each stage, all alike.
        zero: whether an edge may be left out. AdvantageNAS searches without.
        image: (channels, height, width) of what comes in.
    """
    for name, value in (("classes", classes), ("channels", channels), ("cells", cells)):
        if value < 1:
            raise SpaceError(f"{name} must be at least 1, got {value}")
    options = OPERATIONS if zero else OPERATIONS[1:]
    return Nasbench201Space(classes, channels, cells, check_image(image), (options,) * len(EDGES))


@dataclass(frozen=True)
class Nasbench201Space(Family):
    """The family behind `nasbench201_space`; `options` holds the operations of every edge.

    A 3x3 convolution, three stages of equal cells with a residual block of stride 2 between them,
    batch norm, global average pooling, a linear layer.

    Costs, all of the child:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions and the linear layer for one image.

    Where `connected`, a way leads through the cell; all of NAS-Bench-201 has 15,625 cells, but
    those without one give the same whatever comes in.
    """

    classes: int
    channels: int
    cells: int
    image: ImageShape
    options: tuple[tuple[str, ...], ...]
    connected: bool = False

    @cached_property
    def space(self) -> Space:
        """One decision for each edge: its operation."""
        tags = {NONE: frozenset({ZERO})}
        return Space(
            tuple(
                Decision(
                    f"edge{node}<-{source}",
                    tuple(Option(name, tags.get(name, frozenset())) for name in names),
                )
                for (node, source), names in zip(EDGES, self.options, strict=True)
            ),
            NodeText("cell of NAS-Bench-201", EDGES, SKIP),
            Connected(EDGES) if self.connected else None,
        )

    @property
    def useful(self) -> Nasbench201Space:
        """Cells that a way leads through."""
        return replace(self, connected=any(NONE in names for names in self.options))

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each node."""
        return tuple(
            tuple(i for i, (node, _) in enumerate(EDGES) if node == number) for number in (1, 2, 3)
        )

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Every edge costs its operation in each cell."""
        with torch.device("meta"):
            bare = self._network([(SKIP,)] * len(EDGES), [0] * len(EDGES), CHILD, 0.0)
        params = {name: 0 for names in self.options for name in names}
        flops = dict(params)
        channels, (height, width) = self.channels, self.image[1:]
        for _ in range(STAGES):
            for name in params.keys() - {NONE}:
                with torch.device("meta"):
                    operation = make_operation(name, channels, 1, CHILD)
                params[name] += self.cells * parameters(operation)
                flops[name] += self.cells * multiply_adds(operation, (channels, height, width))
            channels, height, width = 2 * channels, halved(height), halved(width)
        return {
            "params": self._terms(parameters(bare), params, "parameters"),
            "flops": self._terms(multiply_adds(bare, self.image), flops, "multiply-adds"),
        }

    def _terms(self, constant: int, each: Mapping[str, int], unit: str) -> CostTerms:
        single = tuple(np.array([each[name] for name in names]) for names in self.options)
        return CostTerms(constant, single, (None,) * (len(single) - 1), unit)

    def supernet(
        self,
        seed: int = 0,
        channels: int | None = None,
        cells: int | None = None,
        partial: int = 1,
    ) -> GatedSupernet:
        """Fresh shared weights, of a network as large as the child or smaller.

        Args:
            seed: of the initial weights.
            channels: of the first stage; None for the child's.
            cells: in each stage; None for the child's.
            partial: K of PC-DARTS: the share of channels that operations see is 1/K.
        """
        small = replace(self, channels=channels or self.channels, cells=cells or self.cells)
        if small.channels % partial:
            raise SpaceError(
                f"channels must be a multiple of the {partial} parts of partial channels, "
                f"got {small.channels}"
            )
        with seeded(seed):
            body = _Body(small._skeleton(lambda width: small._mixed_cell(width, partial), SKELETON))
        edges = {
            f"{name}.edges.{i}": i
            for name, cell in body.named_children()
            if isinstance(cell, _MixedCell)
            for i in range(len(EDGES))
        }
        return GatedSupernet(
            body, edges, lambda picks: small.child(small.space.architecture(picks))
        )

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """The network of one architecture; `dropout` is the rate of drop-path on its edges."""
        if auxiliary:
            raise UsageError(
                "networks of the space nasbench201 have no auxiliary head; set auxiliary to 0"
            )
        picks = self.space.picks(self.as_architecture(architecture))
        with seeded(seed):
            return self._network(self.options, picks, CHILD, dropout)

    def _network(
        self,
        options: Sequence[Sequence[str]],
        picks: Sequence[int],
        norms: Norms,
        drop_path: float,
    ) -> nn.Sequential:
        names = [row[pick] for row, pick in zip(options, picks, strict=True)]
        return nn.Sequential(self._skeleton(lambda width: _Cell(names, width, drop_path), norms))

    def _skeleton(
        self, make_cell: Callable[[int], nn.Module], norms: Norms
    ) -> OrderedDict[str, nn.Module]:
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        width = self.channels
        conv = nn.Conv2d(self.image[0], width, 3, padding=1, bias=False)
        parts["stem"] = nn.Sequential(OrderedDict(conv=conv, norm=norms(width)))
        for stage in range(1, STAGES + 1):
            if stage > 1:
                parts[f"reduce{stage - 1}"] = _Residual(width, 2 * width, norms)
                width *= 2
            for number in range(1, self.cells + 1):
                parts[f"stage{stage}cell{number}"] = make_cell(width)
        parts["norm"] = norms(width)
        parts["relu"] = nn.ReLU()
        parts["pool"] = nn.AdaptiveAvgPool2d(1)
        parts["flat"] = nn.Flatten()
        parts["output"] = nn.Linear(width, self.classes)
        return parts

    def _mixed_cell(self, width: int, partial: int) -> _MixedCell:
        return _MixedCell(
            [
                Mixed(
                    [
                        None
                        if name == NONE
                        else make_operation(name, width // partial, 1, SEARCHED)
                        for name in names
                    ],
                    partial,
                )
                for names in self.options
            ]
        )

    def restrict(self, kept: Sequence[np.ndarray]) -> Nasbench201Space:
        """The same network with fewer operations to choose from."""
        return replace(self, options=keep(self.options, kept))


class _Residual(nn.Module):
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


class _Cell(nn.Module):
    """A child's cell: one operation an edge, nothing where it is `none`."""

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
            # What comes from a node without inputs is a norm's bias, as in the benchmark.
            nodes.append(torch.zeros_like(inputs) if total is None else total)
        return nodes[-1]


class _MixedCell(nn.Module):
    """A supernet's cell. What leads nowhere is not run."""

    def __init__(self, edges: Sequence[Mixed]) -> None:
        super().__init__()
        self.edges = nn.ModuleList(edges)

    def forward(self, inputs: Tensor, gates: Gates, memory: Memory = FORGETFUL) -> Tensor:
        """[n, channels, h, w] -> the same shape."""
        nodes: list[Tensor | None] = [inputs, None, None, None]
        useful = self._useful(gates)
        for number in (1, 2, 3):
            incoming: list[Tensor] = []
            for i, (node, source) in enumerate(EDGES):
                before = nodes[source]
                if node == number and useful[i] and before is not None:
                    run = functools.partial(self.edges[i], before, gates[i])
                    incoming.append(memory.recall((self, i), (before, gates[i]), run))
            if incoming:
                total = functools.partial(functools.reduce, torch.add, incoming)
                nodes[number] = memory.recall((self, "node", number), tuple(incoming), total)
        return torch.zeros_like(inputs) if nodes[-1] is None else nodes[-1]

    def _useful(self, gates: Gates) -> list[bool]:
        """Which edges say something that reaches the last node."""
        heard = [False, False, False, True]
        useful = [False] * len(EDGES)
        for i in reversed(range(len(EDGES))):
            node, source = EDGES[i]
            edge = self.edges[i]
            assert isinstance(edge, Mixed)
            useful[i] = heard[node] and edge.speaks(gates[i])
            heard[source] = heard[source] or useful[i]
        return useful


class _Body(nn.Module):
    """All parts in a row; cells also see the gates.

    Cells share their gates, so the first one is the only one whose inputs stay while gates change.
    """

    def __init__(self, parts: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.memory: Memory = FORGETFUL
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, inputs: Tensor, gates: Gates) -> Tensor:
        """[n, channels, h, w] -> [n, classes]."""
        stem, first, *rest = self.children()
        found = self.memory.recall(self, (inputs,), functools.partial(self._begin, stem, inputs))
        found = first(found, gates, self.memory)
        for part in rest:
            found = part(found, gates) if isinstance(part, _MixedCell) else part(found)
        return found

    def _begin(self, stem: nn.Module, inputs: Tensor) -> Tensor:
        found: Tensor = stem(inputs.contiguous(memory_format=torch.channels_last))
        return found
