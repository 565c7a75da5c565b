"""Networks for several modalities that fuse features and ask each by itself, as a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast, get_args

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.data.modalities.row_layout import RowLayout
from meritnas.errors import UsageError
from meritnas.families.drawing import Drawing
from meritnas.families.family import Running, keep, seeded
from meritnas.families.fusion.backbone import Backbone
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.fusion.joint_child import ALL, CELLS, JointNetwork
from meritnas.families.fusion.joint_costs import counted_joint, longest_joint, timed_joint
from meritnas.families.fusion.joint_shown import drawn_joint, short_joint
from meritnas.families.fusion.joint_supernet import JointBody, RememberingJointReader, TailPlan
from meritnas.families.fusion.joint_text import ON, WAYS, JointRule, JointText
from meritnas.families.fusion.plain_child import Answers, Head
from meritnas.families.fusion.reader import Shape, make_backbones
from meritnas.families.fusion.shown import check_source, fusion_source
from meritnas.families.fusion.spec import Fusion
from meritnas.families.fusion.supernet import FusionBody
from meritnas.families.fusion.text import NONE, FusionText, chosen_cells, decision_names
from meritnas.families.latency import Device
from meritnas.families.measured_peak import MeasuredPeak
from meritnas.families.operations import SEARCHED, SKELETON
from meritnas.families.timed import TimedFamily
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.space import Space
from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.mixed import Mixed

HEAD_WIDTHS = (8, 16, 32, 64)
"""Units that the hidden layer of a head may have."""


def joint_space(
    fusion: FusionSpace,
    widths: Sequence[int] = HEAD_WIDTHS,
    answers: Answers | None = None,
) -> JointSpace:
    """Cells and heads: late fusion, joint fusion by one layer, fusion by cells, in one space.

    Args:
        fusion: the cells.
        widths: that the hidden layers of heads may have.
        answers: what outputs are; None for one answer, whose classes have an output each, or
            only the second of two has.
    """
    count = len(fusion.layout.names)
    # Of one modality alone its own head would be that of all.
    keys = (*(map(str, range(count)) if count > 1 else ()), ALL)
    heads = ((NONE, *map(str, widths)),) * len(keys)
    lowest = [-np.arange(size) for size in fusion.space.sizes]
    absent = fusion.within({}).best(lowest).options
    found = answers or ("classes" if fusion.outputs > 1 else "labels")
    return JointSpace(fusion, found, keys, absent, ((ON, NONE), *heads, WAYS))


@dataclass(frozen=True)
class JointSpace(TimedFamily):
    """The family behind `joint_space`.

    Are there cells, is there a head for each modality and one that reads them all, of which width,
    and how does what they say become one? The network that averages single networks is in it, and
    the one that concatenates; those of `FusionSpace` are, too, by the same texts. The supernet
    trains all parts by the loss of what they say together; how networks alone learn is what the
    race compares.

    Costs, all exact, are those of `FusionSpace`. Features are brought to the shape of cells only
    where there are cells; memory is found by running a network that computes nothing.

    Attributes:
        fusion: the cells, and what they read.
        answers: what outputs are.
        keys: of heads: modalities by number, and `all`.
        absent: the options of cells where there are none.
        tail: the options of the decisions after those of cells: on cells, on each head, on what
            joins them.
    """

    fusion: FusionSpace
    answers: Answers
    keys: tuple[str, ...]
    absent: tuple[str, ...]
    tail: tuple[tuple[str, ...], ...]
    longest: str = field(default="", compare=False, repr=False)

    @property
    def layout(self) -> RowLayout:
        """Where the numbers of each modality stand in a row."""
        return self.fusion.layout

    @property
    def names(self) -> tuple[str, ...]:
        """Heads by the names of their modalities, and `all`."""
        own = self.layout.names
        return tuple(key if key == ALL else own[int(key)] for key in self.keys)

    @property
    def options(self) -> tuple[tuple[str, ...], ...]:
        """The names of all decisions' options."""
        return (*self.fusion.options, *self.tail)

    @cached_property
    def last(self) -> dict[int, Shape]:
        """The shape of the last feature that each backbone gives, by its modality's number."""
        shapes = {feature.modality: feature.shape for feature in self.fusion.features}
        return {number: shapes[number] for number, _ in self.fusion.backbones}

    @cached_property
    def _text(self) -> JointText:
        own = self.fusion
        return JointText(FusionText(own.plans, own.sources, own.shared), self.names, self.absent)

    @cached_property
    def space(self) -> Space:
        """The decisions of cells, whether there are any, each head's width, the way to join."""
        own = self.fusion
        names = [CELLS, *(f"head({name})" for name in self.names[:-1]), "head=all", "joined"]
        more = tuple(
            Decision(name, tuple(Option(one, _tags(one)) for one in row))
            for name, row in zip(names, self.tail, strict=True)
        )
        _, groups = decision_names(own.plans, own.sources)
        rule = JointRule(own.rule((*groups, *[0] * len(more))), self.absent)
        return Space((*own.space.decisions, *more), self._text, rule)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The edges into each cell and into each step."""
        return self.fusion.nodes

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """Those of cells; then whether there are any, and all heads; what joins them."""
        count, every = len(self.fusion.options), len(self.options)
        return (*self.fusion.tables, tuple(range(count, every - 1)), (every - 1,))

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Cells cost as much as in a space of cells, beside backbones; each head its layers."""
        return {**counted_joint(self), **self.timed_costs}

    def timed(self, device: Device = "cpu") -> JointSpace:
        """With a latency for every network."""
        return self.with_latency(timed_joint(self, device))

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once, measured."""
        own = any(callable(each) for _, each in self.fusion.backbones)
        place, fewer = "cpu" if own else "meta", "search without heads (heads=False, --no-heads)"
        return WhenAsked(peak=partial(MeasuredPeak, self, place, fewer))

    def supernet(self, seed: int = 0) -> GatedSupernet:
        """Fresh shared weights; each width of a head has its own."""
        own, count = self.fusion, len(self.fusion.options)
        cells = own.supernet(seed)
        fusion = cells.body
        assert isinstance(fusion, FusionBody)
        with seeded(seed):
            networks = make_backbones(dict(own.backbones), own.layout.columns, SKELETON)
            sizes = (own.channels, own.length, SKELETON, 0.0)
            reader = RememberingJointReader(
                own.layout.columns, own.features, networks, self.last, *sizes
            )
            heads = {
                key: Mixed([self._head(key, name, reader.widths) for name in row])
                for key, row in zip(self.keys, self.tail[1:-1], strict=True)
            }
        numbers = {key: count + 1 + place for place, key in enumerate(self.keys)}
        plan = TailPlan({CELLS: count, **numbers}, len(self.options) - 1, self.options)
        shape = (own.channels, own.length)
        body = JointBody(reader, fusion, heads, plan, own.outputs, self.answers, shape)
        edges = {f"heads.{key}": number for key, number in numbers.items()}
        return GatedSupernet(
            body,
            {**own.operation_paths, **edges},
            lambda picks: self.child(self.space.architecture(picks)),
        )

    def _head(self, key: str, width: str, widths: Sequence[int]) -> Head | None:
        if width == NONE:
            return None
        inputs = sum(widths) if key == ALL else widths[int(key)]
        return Head(inputs, int(width), self.fusion.outputs, 0.0, SEARCHED)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> JointNetwork:
        """The network of one architecture; dropout is in cells as it is there, and in heads."""
        if auxiliary:
            raise UsageError(
                "networks of the space fusion have no auxiliary head; set auxiliary to 0"
            )
        with seeded(seed):
            return JointNetwork(**self._sizes(self._chosen(architecture)), dropout=dropout)

    def _chosen(self, architecture: Architecture | str) -> tuple[str, ...]:
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        return found.options

    def _sizes(self, names: Sequence[str]) -> dict[str, Any]:
        """What the network with these options is made with."""
        count = len(self.fusion.options)
        sizes = self.fusion.sizes_with(names[:count])
        if names[count] == NONE:
            sizes |= {"features": [], "cells": []}
        widths = zip(self.keys, names[count + 1 : -1], strict=True)
        return {
            **sizes,
            "last": self.last,
            "heads": {key: int(width) for key, width in widths if width != NONE},
            "joined": names[-1],
            "answers": self.answers,
        }

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One sample that lacks nothing."""
        return Running(module, (torch.ones(1, self.layout.width, device=device),))

    def answering(self, answers: str) -> JointSpace:
        """The same networks for outputs that are classes, labels or numbers."""
        assert answers in get_args(Answers)
        return replace(self, answers=cast("Answers", answers))

    def restrict(self, kept: Sequence[np.ndarray]) -> JointSpace:
        """The same networks with fewer options to choose from."""
        count = len(self.fusion.options)
        return replace(
            self,
            fusion=self.fusion.restrict(kept[:count]),
            tail=keep(self.tail, kept[count:]),
            latency=self.restricted_latency(kept),
            longest=longest_joint(self),
        )

    @property
    def named_backbones(self) -> dict[str, str | Backbone]:
        """By the name of the modality that they read."""
        return self.fusion.named_backbones

    @property
    def spec(self) -> Fusion:
        """That of its cells, with heads."""
        return replace(self.fusion.spec, heads=True)

    def lines(self, architecture: Architecture | str) -> list[str]:
        """A cell a line, and one for heads."""
        return self._text.lines(self.as_architecture(architecture).options)

    def short(self, architecture: Architecture | str) -> str:
        """`glu(image.0, sound.1) mean(image: 16, sound: 16)`."""
        options = self.as_architecture(architecture).options
        return short_joint(self._cells(options), self.fusion.sources, self._text.tail(options))

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Features, the steps of every cell, the cells, the heads, the output."""
        options = self.as_architecture(architecture).options
        sizes = self._sizes(options)
        features: dict[str, list[str]] = {}
        for one, name in zip(self.fusion.features, self.fusion.sources, strict=False):
            if one.modality in self.last and one.shape != self.last[one.modality]:
                continue
            features.setdefault(str(one.modality), []).append(name)
        features[ALL] = [name for own in features.values() for name in own]
        heads = {
            name: (features[key], sizes["heads"][key])
            for key, name in zip(self.keys, self.names, strict=True)
            if key in sizes["heads"]
        }
        return (drawn_joint(self._cells(options), self.fusion.sources, heads, options[-1]),)

    def source(self, architecture: Architecture | str) -> str:
        """The network, its parts, and what reads a row."""
        found = self.as_architecture(architecture)
        check_source(self.named_backbones)
        own, sizes = self.fusion, self._sizes(found.options)
        read = self._cells(found.options)
        return fusion_source(JointNetwork, sizes, own.layout, own.sources, read, found.text)

    def _cells(self, options: Sequence[str]) -> list[Any]:
        """What cells read and do; none where there are no cells."""
        count = len(self.fusion.options)
        return chosen_cells(self.fusion.plans, options[:count]) if options[count] == ON else []


def _tags(name: str) -> frozenset[str]:
    return frozenset({"zero"} if name == NONE else {"normal"})
