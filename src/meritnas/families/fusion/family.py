from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import nn

from meritnas.cost.terms import CostTerms
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.errors import SpaceError, UsageError, whole_number
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.family import Family, keep, seeded
from meritnas.families.fusion.backbone import CONV, Backbone, Convolutions, shapes_from
from meritnas.families.fusion.network import (
    Feature,
    FeatureReader,
    FusionBody,
    FusionCell,
    FusionNetwork,
    MixedFusionCell,
    child_cell,
)
from meritnas.families.fusion.operations import BM_NAS, EVERY, NORMAL, SPARSE, make_fusion
from meritnas.families.fusion.text import (
    EITHER,
    FORBIDDEN,
    NONE,
    CellPlan,
    FusionText,
    plan_cells,
)
from meritnas.families.operations import CHILD, SEARCHED, SKELETON, Norms
from meritnas.space.architecture import Architecture
from meritnas.space.decision import SPARSE as SPARSE_TAG
from meritnas.space.decision import TOGETHER, Decision, Option
from meritnas.space.new_inputs import NewInputs
from meritnas.space.rule import ABSENT, InputPairs, Rule, X, Y
from meritnas.space.space import Space
from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.mixed import Mixed
from meritnas.wording import did_you_mean

Operations = Literal["all", "normal", "sparse", "bm-nas"]

_SETS = {"all": (*NORMAL, *SPARSE), "normal": NORMAL, "sparse": SPARSE, "bm-nas": BM_NAS}


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
    """
    for name, value in (
        ("outputs", outputs),
        ("cells", cells),
        ("steps", steps),
        ("channels", channels),
        ("length", length),
        ("kernel", kernel),
    ):
        if whole_number(name, value) < 1:
            raise SpaceError(f"{name} must be at least 1, got {value}")
    if kernel % 2 == 0:
        raise SpaceError(f"kernel must be odd, got {kernel}; take {kernel - 1} or {kernel + 1}")
    for name, cost in (("l1", l1), ("l2", l2)):
        if not 0 <= cost < math.inf:
            raise SpaceError(f"{name} must be at least 0 and finite, got {cost}")
    layout = _layout(modalities)
    chosen = _backbones(layout, backbones or {})
    features = _features(layout, chosen)
    if len(features) < 2:
        raise SpaceError(
            "a fusion cell reads two different inputs, and the first one has only features: all "
            f"modalities together need at least 2, got {len(features)}; add a feature, a modality "
            "or a backbone"
        )
    edge = (NONE, EITHER) if shared else (NONE, X, Y)
    plans = plan_cells(len(features), cells, steps, unimodal_only)
    free = {step.operation for plan in plans for step in plan.steps}
    names = _operations(operations)
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
        l1,
        l2,
        kernel,
        options,
    )


def _layout(modalities: Mapping[str, Sequence[Shape]]) -> RowLayout:
    for name, shapes in modalities.items():
        if not name or name != name.strip() or any(c in FORBIDDEN or c in "\n\r\t" for c in name):
            raise SpaceError(
                f"the name of a modality must not be empty or have any of {' '.join(FORBIDDEN)} or "
                f"blanks around it, because it is part of texts; got '{name}'"
            )
        if not isinstance(shapes, Sequence) or any(not isinstance(s, Sequence) for s in shapes):
            raise SpaceError(
                f"modality '{name}' must have a list of shapes, one for each of its features, "
                f"such as [(5,)] for one of 5 columns; got {shapes}"
            )
        if not shapes:
            raise SpaceError(f"modality '{name}' has no features; give at least one shape")
        for shape in shapes:
            sides = [whole_number(f"a side of a feature of '{name}'", side) for side in shape]
            if not 1 <= len(sides) <= 3 or min(sides) < 1:
                raise SpaceError(
                    f"a feature of '{name}' must have shape (columns,), (channels, length) or "
                    f"(channels, height, width), got {tuple(shape)}"
                )
    return RowLayout(
        tuple(
            (name, tuple(tuple(int(side) for side in shape) for shape in shapes))
            for name, shapes in modalities.items()
        )
    )


def _backbones(
    layout: RowLayout, backbones: Mapping[str, str | Backbone]
) -> tuple[tuple[int, str | Backbone], ...]:
    """By number of the modality."""
    shapes = dict(layout.modalities)
    for name, backbone in backbones.items():
        if name not in shapes:
            raise SpaceError(
                f"a backbone for '{name}', which is no modality;{did_you_mean(name, shapes)} "
                f"there are {', '.join(shapes)}"
            )
        if isinstance(backbone, nn.Module):
            raise SpaceError(
                f"the backbone of '{name}' must be a function that makes a torch Module, a fresh "
                f"one at every call, got a {type(backbone).__name__} itself; give its class, or a "
                "function that returns one"
            )
        if callable(backbone):
            continue
        if backbone != CONV:
            raise SpaceError(
                f"the backbone of '{name}' must be '{CONV}' or a function that makes a torch "
                f"Module, got {backbone!r};{did_you_mean(str(backbone), [CONV])}"
            )
        if len(shapes[name]) != 1 or len(shapes[name][0]) != 3:
            raise SpaceError(
                f"the backbone '{CONV}' reads one feature (channels, height, width), but '{name}' "
                f"has {', '.join(map(str, shapes[name]))}; leave it out or give a function"
            )
    return tuple(
        (number, backbones[name]) for number, name in enumerate(layout.names) if name in backbones
    )


def _features(
    layout: RowLayout, backbones: Sequence[tuple[int, str | Backbone]]
) -> tuple[Feature, ...]:
    found = []
    for number, (name, own) in enumerate(layout.modalities):
        backbone = dict(backbones).get(number)
        if callable(backbone):
            shapes = shapes_from(backbone, own, name)
        else:
            shapes = own if backbone is None else Convolutions.shapes(own[0])
        found += [Feature(number, place, shape) for place, shape in enumerate(shapes)]
    return tuple(found)


def _operations(operations: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(operations, str):
        if operations not in _SETS:
            raise SpaceError(
                f"operations must be {', '.join(_SETS)} or a list of names, got '{operations}';"
                f"{did_you_mean(operations, _SETS)}"
            )
        return _SETS[operations]
    for name in operations:
        if name not in EVERY:
            raise SpaceError(
                f"no fusion operation '{name}';{did_you_mean(name, EVERY)} there are "
                f"{', '.join(EVERY)}"
            )
    if not operations or len(set(operations)) != len(operations):
        raise SpaceError(f"operations must be different ones, at least 1, got {list(operations)}")
    return tuple(operations)


@dataclass(frozen=True)
class FusionSpace(Family):
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
    l1: float
    l2: float
    kernel: int
    options: tuple[tuple[str, ...], ...]

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
        names: dict[int, str] = {}
        groups: list[int] = []
        for number, plan in enumerate(self.plans, start=1):
            for source, i in zip(self.sources, plan.edges, strict=False):
                names[i] = f"cell{number}<-{source}"
            groups.append(len(plan.edges))
            for count, step in enumerate(plan.steps, start=1):
                own = f"cell{number}.step{count}"
                inner = (X, Y, *(f"step{before}" for before in range(1, count)))
                names.update(
                    (i, f"{own}<-{source}") for source, i in zip(inner, step.edges, strict=True)
                )
                names[step.operation] = own
                groups += [len(step.edges), 0]
        decisions = tuple(
            Decision(names[i], tuple(Option(name, _tags(name)) for name in row))
            for i, row in enumerate(self.options)
        )
        text = FusionText(self.plans, self.sources, self.shared)
        return Space(decisions, text, self._rule(groups))

    def _rule(self, groups: Sequence[int]) -> Rule:
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
        bare = self._bare()
        each = {name: (0, 0) for row in self.options for name in row}
        shape = (self.channels, self.length)
        for name in each.keys() - {NONE, EITHER, X, Y}:
            with torch.device("meta"):
                operation = self._operation(name, CHILD, 0.0)
            each[name] = (parameters(operation), multiply_adds(operation, shape, shape))
        macs = multiply_adds(bare.reader, (self.layout.width,))
        macs += multiply_adds(bare.output, (bare.output.in_features,))
        for cell in bare.cells:
            assert isinstance(cell, FusionCell)
            macs += multiply_adds(cell.join, (self.steps * self.channels, self.length))
        constants = (parameters(bare), macs)
        none = (None,) * (len(self.options) - 1)
        return {
            cost: CostTerms(
                constants[k],
                tuple(np.array([each[name][k] for name in row]) for row in self.options),
                none,
                unit,
            )
            for k, (cost, unit) in enumerate(
                {"params": "parameters", "flops": "multiply-adds"}.items()
            )
        }

    def _bare(self) -> FusionNetwork:
        """A child without weights in its operations, on the `meta` device."""
        names = self.random(0).options
        free = {step.operation for plan in self.plans for step in plan.steps}
        plain = ["sum" if i in free else name for i, name in enumerate(names)]
        if any(callable(backbone) for _, backbone in self.backbones):
            # A user's function may read files, and then has no meaning on the `meta` device.
            with seeded(0):
                return self._network(plain, 0.0).to("meta")
        with torch.device("meta"):
            return self._network(plain, 0.0)

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
        edges = {
            f"cells.{number}.steps.{count}.operation": step.operation
            for number, plan in enumerate(small.plans)
            for count, step in enumerate(plan.steps)
        }
        return GatedSupernet(
            body, edges, lambda picks: small.child(small.space.architecture(picks))
        )

    def _mixed(self, decision: int) -> Mixed:
        return Mixed([self._operation(name, SEARCHED, 0.0) for name in self.options[decision]])

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
        reader = self._reader(CHILD, dropout)
        cells = [
            child_cell(
                plan,
                names,
                [self._operation(names[step.operation], CHILD, dropout) for step in plan.steps],
                (self.channels, self.length),
                CHILD,
                dropout,
            )
            for plan in self.plans
        ]
        norm = CHILD.layer(self.cells * self.channels, self.length)
        output = nn.Linear(self.cells * self.channels * self.length, self.outputs)
        return FusionNetwork(reader, cells, norm, output)

    def _reader(self, norms: Norms, dropout: float) -> FeatureReader:
        networks = {
            number: backbone()
            if callable(backbone)
            else Convolutions(self.layout.modalities[number][1][0], norms)
            for number, backbone in self.backbones
        }
        return FeatureReader(
            self.layout, self.features, networks, self.channels, self.length, norms, dropout
        )

    def _operation(self, name: str, norms: Norms, dropout: float) -> nn.Module:
        return make_fusion(
            name, self.channels, self.length, norms, dropout, self.l1, self.l2, self.kernel
        )

    def restrict(self, kept: Sequence[np.ndarray]) -> FusionSpace:
        """The same network with fewer inputs and operations to choose from."""
        return replace(self, options=keep(self.options, kept))


def _tags(name: str) -> frozenset[str]:
    if name == NONE:
        return frozenset({"zero", ABSENT})
    if name in (X, Y):
        return frozenset({TOGETHER})
    if name == EITHER:
        return frozenset()
    return frozenset({SPARSE_TAG if name in SPARSE else "normal"})
