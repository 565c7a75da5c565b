"""The networks of NAS-Bench-201 as a family: which operation on each edge of the cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.cell_words import short_cell, split_after
from meritnas.families.drawing import Drawing, Node, node_name
from meritnas.families.family import Running, keep, seeded
from meritnas.families.image_size import ImageShape, check_image
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.latency import Device
from meritnas.families.nasbench201.child import EDGES, STAGES, CellNetwork, skeleton
from meritnas.families.nasbench201.costs import counted_costs, timed_terms
from meritnas.families.nasbench201.peak import peak_cost
from meritnas.families.nasbench201.spec import Nasbench201
from meritnas.families.nasbench201.supernet import Body, MixedCell
from meritnas.families.node_text import NodeText
from meritnas.families.operations import (
    NONE,
    SEARCHED,
    SKELETON,
    SKIP,
    make_operation,
)
from meritnas.families.source import network_source
from meritnas.families.timed import TimedFamily
from meritnas.space.architecture import Architecture
from meritnas.space.decision import ZERO, Decision, Option
from meritnas.space.live_edges import LiveEdges, live_edges
from meritnas.space.space import Space
from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.mixed import Mixed

_BUILT = ("params", "flops", "size", INT8_SIZE, "latency", "peak")
"""The costs of the child as it is built, without dead operations."""

OPERATIONS = (NONE, SKIP, "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


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
class Nasbench201Space(TimedFamily):
    """The family behind `nasbench201_space`; `options` holds the operations of every edge.

    A 3x3 convolution, three stages of equal cells with a residual block of stride 2 between them,
    batch norm, global average pooling, a linear layer.

    An operation is dead if its edge lies on no way from what comes in to what goes out. Children
    do not hold such operations, though the text of an architecture names them. Nothing reads what
    they give, or they read a node without inputs; then the benchmark's own networks add a norm's
    bias, the same for every image, and the children here do not.

    Costs of the child as it is built, without dead operations:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions and the linear layer for one image.
        size: bytes of the file of weights, at most.
        latency: microseconds for one image, where `timed` has measured them.
        peak: bytes of activations that one image takes at once (`families.live_memory`).

    Costs as the benchmark's table counts, dead operations included:
        params-paper: parameters.
        flops-paper: multiply-adds.

    Where `live`, a way leads through the cell and every operation lies on one. All of
    NAS-Bench-201 has 15,625 cells, but those without a way give the same whatever comes in, and
    those with dead operations are others of them, written differently.
    """

    classes: int
    channels: int
    cells: int
    image: ImageShape
    options: tuple[tuple[str, ...], ...]
    live: bool = False

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
            LiveEdges(EDGES) if self.live else None,
        )

    @property
    def useful(self) -> Nasbench201Space:
        """Cells that a way leads through, without dead operations."""
        return replace(self, live=any(NONE in names for names in self.options))

    def sees(self, architecture: Architecture | str) -> bool:
        """Whether a way leads through the cell."""
        return any(self._live(self.as_architecture(architecture)))

    def pruned(self, architecture: Architecture | str) -> Architecture:
        """With `none` for dead operations."""
        found = self.as_architecture(architecture)
        options = _without_dead(found.options, self._live(found))
        return Architecture(options, self.space.text.format(options))

    def _live(self, architecture: Architecture) -> tuple[bool, ...]:
        """Which edges lie on a way through the cell."""
        return live_edges(EDGES, [name != NONE for name in architecture.options])

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each node."""
        return tuple(
            tuple(i for i, (node, _) in enumerate(EDGES) if node == number) for number in (1, 2, 3)
        )

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Every edge costs its operation in each cell.

        Terms are right for cells without dead operations; `cost` is right for all of them.
        """
        return {**counted_costs(self), **self.timed_costs}

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One image."""
        return Running(module, (torch.zeros(1, *self.image, device=device),))

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self))

    def timed(self, device: Device = "cpu") -> Nasbench201Space:
        """With a latency for every cell."""
        return self.with_latency(timed_terms(self, device))

    def bare(self) -> CellNetwork:
        """A network whose cells skip everything, which needs no weights."""
        return CellNetwork([SKIP] * len(EDGES), **self._sizes())

    def cost(self, architecture: Architecture | str, name: str = "params") -> int:
        """What an architecture costs; dead operations nothing, but for the benchmark's counts."""
        total = super().cost(architecture, name)
        if name not in _BUILT or name in self.maxima:
            return total
        found = self.as_architecture(architecture)
        parts = zip(
            self.costs[name].single, self.space.picks(found), self._live(found), strict=True
        )
        return total - sum(int(term[pick]) for term, pick, live in parts if not live)

    def within(self, limits: Mapping[str, int]) -> FeasibleSet:
        """The architectures whose costs are at most these limits, by the cost's name.

        Where the child's own costs are limited, those without dead operations: any other cell is
        one of them, written differently.
        """
        if not self.live and self.useful.live and any(name in _BUILT for name in limits):
            return self.useful.within(limits)
        return super().within(limits)

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
            parts = skeleton(
                lambda width: small._mixed_cell(width, partial), **small._sizes(), norms=SKELETON
            )
            body = Body(parts)
        edges = {
            f"{name}.edges.{i}": i
            for name, cell in body.named_children()
            if isinstance(cell, MixedCell)
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
    ) -> CellNetwork:
        """The network of one architecture without its dead operations.

        `dropout` is the rate of drop-path on its edges.
        """
        if auxiliary:
            raise UsageError(
                "networks of the space nasbench201 have no auxiliary head; set auxiliary to 0"
            )
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        with seeded(seed):
            built = _without_dead(found.options, self._live(found))
            return CellNetwork(built, **self._sizes(), drop_path=dropout)

    def _sizes(self) -> dict[str, Any]:
        """What networks are made with beside their operations."""
        return {
            "colours": self.image[0],
            "channels": self.channels,
            "cells": self.cells,
            "classes": self.classes,
        }

    def _mixed_cell(self, width: int, partial: int) -> MixedCell:
        return MixedCell(
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

    def own_weights(
        self, architecture: Architecture | str, weights: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Without those of dead operations, which children of MeritNAS 0.1 had."""
        live = self._live(self.as_architecture(architecture))
        dead = tuple(f".edges.{i}." for i, edge in enumerate(live) if not edge)
        return {
            name: value for name, value in weights.items() if not any(part in name for part in dead)
        }

    @property
    def witnesses(self) -> Mapping[str, float]:
        """As they agree best with the benchmark's validation accuracies.

        Patterns, size and gradients by `benchmarks/witnesses.py` on all cells, and by lists of a
        hundred candidates for each of eleven limits, from seven searches: the best of the six that
        were liked best was .71, .62 and .58 points behind the best of all with gradients at .5, 1
        and 1.5, and the mean of the six 1.86, 1.92 and
        2.07.

        One-shot loss has half a vote: beside the untrained three on 300 cells, mean of four
        supernets, Spearman's correlation in the better half was .80, .81, .81 and .78 at weights of
        0, .25, .5 and 1. Beliefs have a quarter: with an additive fit to one-shot losses of 300
        cells in their place, the ten that were liked best of all under eleven limits were 1.76,
        1.21, 1.28 and 1.47 points behind the best at weights of 0, .25, .5 and 1, mean of five
        supernets.
        """
        return {"one-shot": 0.5, "beliefs": 0.25, "size": 1.0, "patterns": 1.0, "gradients": 1.0}

    def trunk(self, module: nn.Module) -> tuple[nn.Module, nn.Module]:
        """From the stem to the last cell."""
        parts = dict(module.named_children())
        return parts["stem"], parts[f"stage{STAGES}cell{self.cells}"]

    def restrict(self, kept: Sequence[np.ndarray]) -> Nasbench201Space:
        """The same network with fewer operations to choose from."""
        latency = self.restricted_latency(kept)
        return replace(self, options=keep(self.options, kept), latency=latency)

    @property
    def spec(self) -> Nasbench201:
        """Sizes as they are here; all edges have the same operations, perhaps with `none`."""
        zero = NONE in self.options[0]
        return Nasbench201(channels=self.channels, cells=self.cells, zero=zero)

    def lines(self, architecture: Architecture | str) -> list[str]:
        """A node a line."""
        return split_after(self.as_architecture(architecture).text, "+")

    def short(self, architecture: Architecture | str) -> str:
        """`3x3|skip 3x3|skip none avg`."""
        return short_cell(EDGES, self.as_architecture(architecture).options)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """The cell: node 0 comes in, the last node is the output; dead edges are marked."""
        found = self.as_architecture(architecture)
        options = found.options
        nodes = tuple(
            Node(
                node_name(number),
                tuple(
                    (node_name(source), name)
                    for (node, source), name in zip(EDGES, options, strict=True)
                    if node == number and name != NONE
                ),
            )
            for number in (1, 2, 3)
        )
        dead = tuple(
            (node_name(source), node_name(node))
            for (node, source), name, live in zip(EDGES, options, self._live(found), strict=True)
            if name != NONE and not live
        )
        return (Drawing(f"cell; {nodes[-1].name} is its output", (node_name(0),), nodes, dead),)

    def source(self, architecture: Architecture | str) -> str:
        """The cell, the network of it, and the operations that the cell has but for dead ones."""
        found = self.as_architecture(architecture)
        built = _without_dead(found.options, self._live(found))
        about = f"Images [n, {', '.join(map(str, self.image))}] -> scores [n, {self.classes}]."
        arguments = {"operations": list(built), **self._sizes()}
        return network_source(CellNetwork, arguments, found.text, about)


def _without_dead(options: Sequence[str], live: Sequence[bool]) -> tuple[str, ...]:
    """Operations of a cell's edges, `none` for those that are dead."""
    return tuple(name if edge else NONE for name, edge in zip(options, live, strict=True))
