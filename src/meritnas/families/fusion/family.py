"""The networks for several modalities as a family: which features to join, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, get_args

import numpy as np
import torch
from torch import nn

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.errors import SpaceError, UsageError
from meritnas.families.drawing import Drawing
from meritnas.families.family import Running, keep, seeded
from meritnas.families.fusion.arguments import (
    as_layout,
    check_sizes,
    check_sparse,
    chosen_operations,
    numbered_backbones,
    option_tags,
    read_features,
)
from meritnas.families.fusion.backbone import Backbone
from meritnas.families.fusion.child import Feature, FusionNetwork
from meritnas.families.fusion.costs import counted_costs, longest_text_of, timed_terms
from meritnas.families.fusion.operations import make_fusion
from meritnas.families.fusion.peak import FeatureByFeature, feature_by_feature, peak_cost
from meritnas.families.fusion.reader import make_backbones
from meritnas.families.fusion.shown import check_source, drawn, fusion_source, short_network
from meritnas.families.fusion.spec import Fusion, Operations
from meritnas.families.fusion.supernet import FusionBody, MixedFusionCell, RememberingReader
from meritnas.families.fusion.text import (
    EITHER,
    NONE,
    CellPlan,
    FusionText,
    chosen_cells,
    decision_names,
    plan_cells,
)
from meritnas.families.latency import Device
from meritnas.families.operations import SEARCHED, SKELETON, Norms
from meritnas.families.timed import TimedFamily
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.new_inputs import NewInputs
from meritnas.space.rule import ABSENT, InputPairs, Rule, X, Y
from meritnas.space.space import Space
from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.mixed import Mixed


def fusion_space(
    modalities: Mapping[str, Sequence[Shape]],
    outputs: int,
    cells: int = 2,
    steps: int = 1,
    channels: int = 64,
    length: int = 8,
    *,
    operations: Operations | Sequence[str] = "all",
    shared: bool = False,
    unimodal_only: bool = False,
    new_inputs: bool = False,
    backbones: Mapping[str, str | Backbone] | None = None,
    l1: float = 0.1,
    l2: float = 0.0,
    kernel: int = 1,
    fista_steps: int = 2,
) -> FusionSpace:
    """Cells that fuse features of several modalities: which two, by which operation (SM-ShapNAS)?

    Args:
        modalities: the shapes of each modality's features, by its name: (columns,),
            (channels, length) or (channels, height, width).
        outputs: how many numbers the network gives.
        cells: how many; each reads two of all features and of the cells before it.
        steps: of each cell; each reads two of the cell's x, y and the steps before it.
        channels: of features in cells.
        length: of features in cells.
        operations: what steps choose from: a set of them, or names.
        shared: whether an edge of the supernet feeds both inputs, as in BM-NAS; otherwise it is
            searched which, too.
        unimodal_only: whether cells read features only, and no cells.
        new_inputs: whether each cell reads a feature that no cell before it reads, as long as
            there is one, as in BM-NAS.
        backbones: of modalities that have one: `conv` for one feature that is an image, or a
            function that makes a torch Module, which gets all features of the modality and gives
            a list of them.
        l1: of sparse operations, what the size of a code costs.
        l2: of sparse operations, what its square costs.
        kernel: of sparse operations, the length of an atom; odd.
        fista_steps: of sparse operations, how often a code is improved.
    """
    check_sizes(outputs=outputs, cells=cells, steps=steps, channels=channels, length=length)
    check_sparse(l1, l2, kernel, fista_steps)
    layout = as_layout(modalities)
    chosen = numbered_backbones(layout, backbones or {})
    features = read_features(layout, chosen)
    if len(features) < 2:
        raise SpaceError(
            "a fusion cell reads two different inputs, and the first one has only features: all "
            f"modalities together need at least 2, got {len(features)}; add a feature, a modality "
            "or a backbone"
        )
    edge = (NONE, EITHER) if shared else (NONE, X, Y)
    plans = plan_cells(len(features), cells, steps, unimodal_only)
    free = {step.operation for plan in plans for step in plan.steps}
    names = chosen_operations(operations)
    options = tuple(names if i in free else edge for i in range(max(free) + 1))
    return FusionSpace(
        layout,
        features,
        outputs,
        cells,
        steps,
        channels,
        length,
        shared,
        unimodal_only,
        new_inputs,
        chosen,
        (l1, l2, kernel, fista_steps),
        options,
    )


@dataclass(frozen=True)
class FusionSpace(TimedFamily):
    """The family behind `fusion_space`; `options` holds the options of every decision.

    A row of inputs holds all modalities of a sample as `layout` says. Features are brought to
    (channels, length); every cell adds its x to what its steps give, and a layer norm follows;
    all cells' outputs, a layer norm, ReLU and a linear layer give the outputs.

    Deviations from BM-NAS, whose network SM-ShapNAS takes: a vector becomes several learned views
    instead of copies of one; cells may read cells, as SM-ShapNAS says; x and y are searched apart
    unless `shared`; statistics of batch norms count samples that lack a modality as zeros.

    Costs, all of the child; backbones and layers of features count whether cells read them or not:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions, linear layers, sparse coding and attention.
        size: bytes of the file of weights, at most.
        latency: microseconds for one sample, where `timed` has measured them.
        peak: bytes of activations that one sample takes at once (`families.live_memory`).
    """

    layout: RowLayout
    features: tuple[Feature, ...]
    outputs: int
    cells: int
    steps: int
    channels: int
    length: int
    shared: bool
    unimodal_only: bool
    new_inputs: bool
    backbones: tuple[tuple[int, str | Backbone], ...]
    sparsity: tuple[float, float, int, int]
    options: tuple[tuple[str, ...], ...]
    reordered: bool = field(default=False, compare=False, repr=False)
    longest: str = field(default="", compare=False, repr=False)

    @cached_property
    def plans(self) -> tuple[CellPlan, ...]:
        """Where the decisions of each cell are."""
        return plan_cells(len(self.features), self.cells, self.steps, self.unimodal_only)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The names of all that cells read: features, then cells."""
        names = [f"{self.layout.names[f.modality]}.{f.place}" for f in self.features]
        return (*names, *(f"cell{number}" for number in range(1, self.cells + 1)))

    @cached_property
    def space(self) -> Space:
        """Of every cell its edges, and of every step its edges and then its operation."""
        names, groups = decision_names(self.plans, self.sources)
        decisions = tuple(
            Decision(names[i], tuple(Option(name, option_tags(name)) for name in row))
            for i, row in enumerate(self.options)
        )
        text = FusionText(self.plans, self.sources, self.shared)
        return Space(decisions, text, self.rule(groups))

    def rule(self, groups: Sequence[int]) -> Rule:
        """Of its decisions in groups as `decision_names` has them, and free ones after them."""
        if self.reordered:
            return feature_by_feature(replace(self, reordered=False))
        pairs = InputPairs(tuple(groups))
        if not self.new_inputs:
            return pairs
        return NewInputs(pairs, tuple(plan.edges[: len(self.features)] for plan in self.plans))

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each cell and into each step; operations are in none."""
        found = []
        for plan in self.plans:
            found += [plan.edges, *(step.edges for step in plan.steps)]
        return tuple(found)

    @cached_property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """All edges into cells; of each cell the edges into its steps; of each its operations."""
        return (
            tuple(i for plan in self.plans for i in plan.edges),
            *(tuple(i for step in plan.steps for i in step.edges) for plan in self.plans),
            *(tuple(step.operation for step in plan.steps) for plan in self.plans),
        )

    def players(self) -> tuple[str, ...]:
        """Who gets credit: every edge, whatever it feeds, and every operation of every step."""
        found = []
        free = {step.operation for plan in self.plans for step in plan.steps}
        for i, decision in enumerate(self.space.decisions):
            if i in free:
                found += [f"{decision.name}={option.name}" for option in decision.options]
            elif any(ABSENT not in option.tags for option in decision.options):
                found.append(decision.name)
        return tuple(found)

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Every step costs its operation; all else is the same for all architectures."""
        return {**counted_costs(self), **self.timed_costs}

    def timed(self, device: Device = "cpu") -> FusionSpace:
        """With a latency for every network."""
        return self.with_latency(timed_terms(self, device))

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self))

    def within(self, limits: Mapping[str, int]) -> FeasibleSet:
        """The architectures whose costs are at most these limits, by the cost's name.

        Where memory is limited, decisions are read feature by feature.
        """
        if "peak" not in limits or isinstance(self.space.rule, FeatureByFeature):
            return super().within(limits)
        return replace(self, reordered=True).within(limits)

    def bare(self) -> FusionNetwork:
        """A child without weights in its operations."""
        names = self.random(0).options
        free = {step.operation for plan in self.plans for step in plan.steps}
        return self._network(["sum" if i in free else name for i, name in enumerate(names)], 0.0)

    def supernet(self, seed: int = 0, channels: int | None = None) -> GatedSupernet:
        """Fresh shared weights, of a network as wide as the child or narrower.

        Args:
            seed: of the initial weights.
            channels: of features in cells; None for the child's.
        """
        small = replace(self, channels=channels or self.channels)
        with seeded(seed):
            mixed = [
                MixedFusionCell(
                    plan,
                    small.options,
                    [small._mixed(step.operation) for step in plan.steps],
                    small.channels,
                    small.length,
                    SEARCHED,
                )
                for plan in small.plans
            ]
            body = FusionBody(
                small._reader(SKELETON, 0.0),
                mixed,
                SKELETON.layer(small.cells * small.channels, small.length),
                nn.Linear(small.cells * small.channels * small.length, small.outputs),
                (small.channels, small.length),
            )
        return GatedSupernet(
            body, self.operation_paths, lambda picks: small.child(small.space.architecture(picks))
        )

    @property
    def operation_paths(self) -> dict[str, int]:
        """The decision on each operation, by where that stands in networks."""
        return {
            f"cells.{number}.steps.{count}.operation": step.operation
            for number, plan in enumerate(self.plans)
            for count, step in enumerate(plan.steps)
        }

    def _mixed(self, decision: int) -> Mixed:
        return Mixed([self.operation(name, SEARCHED, 0.0) for name in self.options[decision]])

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> FusionNetwork:
        """The network of one architecture; dropout is after features, operations and cells."""
        if auxiliary:
            raise UsageError(
                "networks of the space fusion have no auxiliary head; set auxiliary to 0"
            )
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        with seeded(seed):
            return self._network(found.options, dropout)

    def _network(self, names: Sequence[str], dropout: float) -> FusionNetwork:
        return FusionNetwork(**self.sizes_with(names), dropout=dropout)

    def sizes_with(self, names: Sequence[str]) -> dict[str, Any]:
        """What the network with these options is made with."""
        return {
            "modalities": self.layout.columns,
            "features": [tuple(feature) for feature in self.features],
            "cells": chosen_cells(self.plans, names),
            "channels": self.channels,
            "length": self.length,
            "outputs": self.outputs,
            "backbones": dict(self.backbones),
            "sparsity": self.sparsity,
        }

    def _reader(self, norms: Norms, dropout: float) -> RememberingReader:
        networks = make_backbones(dict(self.backbones), self.layout.columns, norms)
        sizes = (self.channels, self.length, norms, dropout)
        return RememberingReader(self.layout.columns, self.features, networks, *sizes)

    def operation(self, name: str, norms: Norms, dropout: float) -> nn.Module:
        """An operation of a step by its name."""
        return make_fusion(name, self.channels, self.length, norms, dropout, *self.sparsity)

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One sample that lacks nothing."""
        return Running(module, (torch.ones(1, self.layout.width, device=device),))

    def restrict(self, kept: Sequence[np.ndarray]) -> FusionSpace:
        """The same network with fewer inputs and operations to choose from."""
        latency = self.restricted_latency(kept)
        longest = longest_text_of(self)  # costs of a network stay the same
        return replace(self, options=keep(self.options, kept), latency=latency, longest=longest)

    @property
    def named_backbones(self) -> dict[str, str | Backbone]:
        """By the name of the modality that they read."""
        return {self.layout.names[number]: own for number, own in self.backbones}

    @property
    def spec(self) -> Fusion:
        """Sizes and rules as they are here; of operations the set that has them all."""
        free = {step.operation for plan in self.plans for step in plan.steps}
        names = self.options[min(free)]
        found = [each for each in get_args(Operations) if chosen_operations(each) == names]
        return Fusion(
            channels=self.channels,
            length=self.length,
            cells=self.cells,
            steps=self.steps,
            operations=found[0] if found else "all",
            shared=self.shared,
            unimodal_only=self.unimodal_only,
            new_inputs=self.new_inputs,
            sparsity=self.sparsity[0],
            fista_steps=self.sparsity[3],
            backbones=self.named_backbones,
        )

    def lines(self, architecture: Architecture | str) -> list[str]:
        """A cell a line."""
        text = FusionText(self.plans, self.sources, self.shared)
        return text.lines(self.as_architecture(architecture).options)

    def short(self, architecture: Architecture | str) -> str:
        """`glu(image.0, sound.1) sum(cell1, image.0)`."""
        options = self.as_architecture(architecture).options
        return short_network(chosen_cells(self.plans, options), self.sources)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Features, the steps of every cell, the cells, the output."""
        options = self.as_architecture(architecture).options
        return (drawn(chosen_cells(self.plans, options), self.sources),)

    def source(self, architecture: Architecture | str) -> str:
        """The cells, the network of them, their operations and what reads a row."""
        found = self.as_architecture(architecture)
        check_source(self.named_backbones)
        read = chosen_cells(self.plans, found.options)
        sizes = self.sizes_with(found.options)
        return fusion_source(FusionNetwork, sizes, self.layout, self.sources, read, found.text)
