"""The networks of DARTS' cells as a family: which edges, and which operations on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.cell_words import counted_kinds, short_cell, split_after
from meritnas.families.darts.auxiliary import auxiliary_head
from meritnas.families.darts.child import (
    EDGES,
    NODES,
    CellPlan,
    DartsNetwork,
    make_stem,
    plan_cells,
)
from meritnas.families.darts.costs import counted_costs, timed_terms
from meritnas.families.darts.genotype import CellsText, GenotypeText, present_edges
from meritnas.families.darts.operations import OPERATIONS, edge_operations
from meritnas.families.darts.peak import peak_cost
from meritnas.families.darts.spec import VARIANTS, Darts, Stem, Variant
from meritnas.families.darts.supernet import DartsBody, MixedDartsCell
from meritnas.families.drawing import Drawing, Node, node_name
from meritnas.families.family import Running, keep, seeded
from meritnas.families.image_size import ImageShape, check_image
from meritnas.families.latency import Device
from meritnas.families.operations import NONE, SEARCHED, SKELETON, make_operation
from meritnas.families.source import network_source
from meritnas.families.timed import TimedFamily
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import ABSENT, PresentEdges
from meritnas.space.space import Space
from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.mixed import Mixed

__all__ = ["OPERATIONS", "DartsSpace", "Stem", "Variant", "darts_space"]


def darts_space(
    classes: int = 10,
    channels: int = 36,
    cells: int = 20,
    variant: Variant | None = None,
    image: ImageShape = (3, 32, 32),
    stem: Stem = "cifar",
) -> DartsSpace:
    """Cells of four nodes with two inputs each: which edges, which operations (DARTS, 2019)?

    Args:
        classes: the number of outputs; one where there are two classes.
        channels: of the first cell; they double at a third and two thirds of the way.
        cells: how many; all normal cells are alike and so are the two reduction cells.
        variant: `s1` to `s4`, the small spaces of RobustDARTS; `unique`: every cell has its own
            decisions and all 14 edges, where `none` is an operation like the others (MANAS).
        image: (channels, height, width) of what comes in.
        stem: `cifar` keeps the size of images, `imagenet` divides it by 8.
    """
    for name, value, least in (("classes", classes, 1), ("channels", channels, 2)):
        if value < least:
            raise SpaceError(f"{name} must be at least {least}, got {value}")
    if cells < 3 and variant != "unique":
        raise SpaceError(f"a normal and two reduction cells take at least 3 cells, got {cells}")
    if cells < 1:
        raise SpaceError(f"cells must be at least 1, got {cells}")
    if stem not in ("cifar", "imagenet"):
        raise SpaceError(f"the stem must be cifar or imagenet, got '{stem}'")
    options = edge_operations(variant, cells)
    return DartsSpace(classes, channels, cells, variant, check_image(image), stem, options)


@dataclass(frozen=True)
class DartsSpace(TimedFamily):
    """The family behind `darts_space`; `options` holds the operations of every edge.

    In all variants but `unique` an architecture has exactly two present edges a node; `none`
    means that an edge is absent, and in DARTS' own space and in S3 it is also an operation of
    the mixture. The order of edges is node by node, sources ascending.

    Costs, all of the child without its auxiliary head:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions and the linear layer for one image.
        size: bytes of the file of weights, at most.
        latency: microseconds for one image, where `timed` has measured them.
        peak: bytes of activations that one image takes at once (`families.live_memory`).
    """

    classes: int
    channels: int
    cells: int
    variant: Variant | None
    image: ImageShape
    stem: Stem
    options: tuple[tuple[str, ...], ...]

    @cached_property
    def plans(self) -> tuple[CellPlan, ...]:
        """Where the cells stand."""
        return plan_cells(self.channels, self.cells, self.image, self.stem)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """For each cell the number of its first decision."""
        if self.variant == "unique":
            return tuple(number * len(EDGES) for number in range(self.cells))
        return tuple(len(EDGES) if plan.reduction else 0 for plan in self.plans)

    @cached_property
    def space(self) -> Space:
        """One decision for each edge: its operation, or that it is absent."""
        none = {
            None: frozenset({"zero", ABSENT}),
            "s3": frozenset({"zero", ABSENT}),
            "unique": frozenset({"zero"}),
        }.get(self.variant, frozenset({ABSENT}))
        names = (
            [f"cell{number + 1}." for number in range(self.cells)]
            if self.variant == "unique"
            else ["normal", "reduce"]
        )
        decisions = tuple(
            Decision(
                f"{names[i // len(EDGES)]}{_edge_name(i % len(EDGES))}",
                tuple(Option(name, none if name == NONE else frozenset()) for name in row),
            )
            for i, row in enumerate(self.options)
        )
        if self.variant == "unique":
            return Space(decisions, CellsText(self.cells))
        groups = tuple(node + 2 for node in range(NODES)) * 2
        return Space(decisions, GenotypeText(), PresentEdges(groups, 2))

    def sees(self, architecture: Architecture | str) -> bool:
        """Whether a way leads through the cells, which read the two before them."""
        options = self.as_architecture(architecture).options
        before, last = True, True
        for start in self.starts:
            before, last = last, _passes(options[start : start + len(EDGES)], before, last)
        return last

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each node of each searched cell."""
        found: dict[tuple[int, int], list[int]] = {}
        for i in range(len(self.options)):
            cell, edge = divmod(i, len(EDGES))
            found.setdefault((cell, EDGES[edge][0]), []).append(i)
        return tuple(tuple(group) for group in found.values())

    @cached_property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The edges of each searched cell."""
        count = len(EDGES)
        return tuple(tuple(range(s, s + count)) for s in range(0, len(self.options), count))

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Every edge costs its operation in each cell that has it."""
        return {**counted_costs(self), **self.timed_costs}

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One image."""
        return Running(module, (torch.zeros(1, *self.image, device=device),))

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self))

    def timed(self, device: Device = "cpu") -> DartsSpace:
        """With a latency for every network."""
        return self.with_latency(timed_terms(self, device))

    def bare(self) -> DartsNetwork:
        """A network without any operation."""
        return self._network([NONE] * len(self.options), 0.0, auxiliary=False)

    def supernet(
        self,
        seed: int = 0,
        channels: int | None = None,
        cells: int | None = None,
        partial: int = 1,
        pool_norm: bool = True,
    ) -> GatedSupernet:
        """Fresh shared weights, of a network as large as the child or smaller.

        Args:
            seed: of the initial weights.
            channels: of the first cell; None for the child's.
            cells: how many; None for the child's. Where every cell has its own decisions there
                are as many as in the child.
            partial: K of PC-DARTS: the share of channels that operations see is 1/K.
            pool_norm: whether pooling is followed by a norm, as in DARTS' supernet; children
                have none there.
        """
        if self.variant == "unique" and cells not in (None, self.cells):
            raise SpaceError(
                f"every cell of this space has its own decisions, so its supernet has all "
                f"{self.cells} cells, got cells={cells}"
            )
        small = replace(self, channels=channels or self.channels, cells=cells or self.cells)
        if small.cells < 3 and self.variant != "unique":
            raise SpaceError(
                "a supernet of a normal and two reduction cells takes at least 3 cells, got "
                f"{small.cells}"
            )
        if small.channels % partial:
            raise SpaceError(
                f"channels must be a multiple of the {partial} parts of partial channels, "
                f"got {small.channels}"
            )
        with seeded(seed):
            mixed = [
                MixedDartsCell(
                    plan,
                    [
                        small._mixed(plan, start, edge, partial, pool_norm)
                        for edge in range(len(EDGES))
                    ],
                    SEARCHED,
                )
                for plan, start in zip(small.plans, small.starts, strict=True)
            ]
            body = DartsBody(
                make_stem(small.stem, small.image[0], small.channels, SKELETON),
                mixed,
                nn.Linear(NODES * small.plans[-1].channels, small.classes),
                small.starts,
            )
        edges = {
            f"cells.{number}.edges.{edge}": start + edge
            for number, start in enumerate(small.starts)
            for edge in range(len(EDGES))
        }
        return GatedSupernet(
            body, edges, lambda picks: small.child(small.space.architecture(picks))
        )

    def _mixed(self, plan: CellPlan, start: int, edge: int, partial: int, pool_norm: bool) -> Mixed:
        width, stride = plan.channels // partial, plan.stride(edge)
        options: list[nn.Module | None] = []
        for name in self.options[start + edge]:
            if name == NONE:
                options.append(None)
                continue
            operation = make_operation(name, width, stride, SEARCHED)
            if pool_norm and "pool" in name:
                operation = nn.Sequential(operation, SEARCHED(width))
            options.append(operation)
        return Mixed(options, partial, stride)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> DartsNetwork:
        """The network of one architecture; `dropout` is the rate of drop-path on its edges.

        With `auxiliary` it has a second classifier, for training only.
        """
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        with seeded(seed):
            return self._network(found.options, dropout, auxiliary=auxiliary)

    def _network(self, names: Sequence[str], drop_path: float, *, auxiliary: bool) -> DartsNetwork:
        network = DartsNetwork(**self._sizes(names), drop_path=drop_path)
        if auxiliary:
            network.auxiliary = self._auxiliary(self.plans[2 * self.cells // 3])
        return network

    def _sizes(self, names: Sequence[str]) -> dict[str, Any]:
        """What the network with these operations is made with."""
        count = len(EDGES)
        return {
            "operations": [list(names[s : s + count]) for s in range(0, len(names), count)],
            "kinds": [start // count for start in self.starts],
            "image": self.image,
            "stem": self.stem,
            "channels": self.channels,
            "classes": self.classes,
        }

    def _auxiliary(self, plan: CellPlan) -> nn.Module:
        size = min(plan.height, plan.width)
        if size < 2 or plan.height != plan.width:
            raise UsageError(
                "an auxiliary head reads a square map of at least 2 by 2 pixels two thirds "
                f"through the network, here it is {plan.height} by {plan.width}; set auxiliary "
                "to 0"
            )
        return auxiliary_head(NODES * plan.channels, size, self.classes, self.stem)

    @property
    def witnesses(self) -> Mapping[str, float]:
        """Those of `nasbench201`, where they were measured; there is no table of these networks.

        Where all cells differ it is the search's beliefs alone. There the votes of others chose
        worse networks than MANAS' own recommendation in 5 of 6 searches (MNIST, 8 and 14 cells, by
        `benchmarks/manas_images.py`), and of ten networks at random at 8 cells looks at them and
        their size put less in order (Spearman .32, .33, .21) than on NAS-Bench-201.
        """
        if self.variant == "unique":
            return {"beliefs": 1.0}
        return {"one-shot": 0.5, "beliefs": 0.25, "size": 1.0, "patterns": 1.0, "gradients": 1.0}

    def trunk(self, module: nn.Module) -> tuple[nn.Module, nn.Module]:
        """From the stem to the last cell."""
        assert isinstance(module, DartsNetwork)
        return module.stem[0], module.cells[-1]

    def restrict(self, kept: Sequence[np.ndarray]) -> DartsSpace:
        """The same network with fewer operations to choose from."""
        latency = self.restricted_latency(kept)
        return replace(self, options=keep(self.options, kept), latency=latency)

    @property
    def spec(self) -> Darts:
        """Variant, sizes and stem as they are here."""
        own = next(one for one in VARIANTS if one.variant == self.variant)
        return own(channels=self.channels, cells=self.cells, stem=self.stem)

    def lines(self, architecture: Architecture | str) -> list[str]:
        """A node a line."""
        found = self.as_architecture(architecture)
        if self.variant == "unique":
            return split_after(found.text, "+/")
        return GenotypeText().lines(found.options)

    def short(self, architecture: Architecture | str) -> str:
        """`8 sep, 4 skip, 4 pool`; a cell that is the only one node by node."""
        options = self.as_architecture(architecture).options
        if self.variant == "unique":
            alone = self.cells == 1
            return short_cell(EDGES, options) if alone else counted_kinds(options)
        return counted_kinds(name for name in options if name != NONE)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Every searched cell."""
        options = self.as_architecture(architecture).options
        titles = ["normal cell", "reduction cell"]
        if self.variant == "unique":
            titles = [f"cell {number + 1}" for number in range(self.cells)]
        return tuple(
            _drawn(title, options[k * len(EDGES) : (k + 1) * len(EDGES)])
            for k, title in enumerate(titles)
        )

    def source(self, architecture: Architecture | str) -> str:
        """The cells, the network of them, and the operations that they have."""
        found = self.as_architecture(architecture)
        about = f"Images [n, {', '.join(map(str, self.image))}] -> scores [n, {self.classes}]."
        return network_source(DartsNetwork, self._sizes(found.options), found.text, about)


def _drawn(title: str, options: Sequence[str]) -> Drawing:
    """Nodes 0 and 1 are the outputs of the two cells before; all others make the output."""
    nodes = tuple(
        Node(node_name(number), tuple((node_name(source), name) for name, source in pairs))
        for number, pairs in enumerate(present_edges(options), start=2)
    )
    output = Node("output", tuple((node.name, "") for node in nodes), "concat")
    return Drawing(title, (node_name(0), node_name(1)), (*nodes, output))


def _passes(options: Sequence[str], first: bool, second: bool) -> bool:
    """Whether a cell with these operations passes on something of its inputs, if they have it."""
    reached = {state for state, has in enumerate((first, second)) if has}
    for (node, source), name in zip(EDGES, options, strict=True):
        if name != NONE and source in reached:
            reached.add(node + 2)
    return bool(reached - {0, 1})


def _edge_name(edge: int) -> str:
    node, source = EDGES[edge]
    return f"{node + 2}<-{source}"
