"""Plain networks for several modalities as a family: which of two, and how wide."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NoReturn

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms, Factor
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.errors import SpaceError, UsageError
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.drawing import Drawing, Node
from meritnas.families.family import Running, keep, seeded
from meritnas.families.fusion.arguments import (
    as_layout,
    check_sizes,
    numbered_backbones,
    read_features,
)
from meritnas.families.fusion.backbone import Backbone, stand_ins
from meritnas.families.fusion.child import Feature
from meritnas.families.fusion.plain_child import Answers, Concatenation, FlatReader, LateAveraging
from meritnas.families.fusion.plain_costs import (
    CONCATENATION,
    LATE,
    int8_size,
    stored_size,
    timed_terms,
)
from meritnas.families.fusion.reader import make_backbones
from meritnas.families.fusion.shown import about_rows, check_source
from meritnas.families.latency import Device
from meritnas.families.measured_peak import MeasuredPeak
from meritnas.families.operations import CHILD
from meritnas.families.source import network_source
from meritnas.families.timed import TimedFamily
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.space import Space
from meritnas.wording import shortened

_NARROWEST, _WIDEST = 4, 1024


def plain_fusion(
    modalities: Mapping[str, Sequence[Shape]],
    outputs: int,
    answers: Answers,
    backbones: Mapping[str, str | Backbone] | None = None,
    most: int | None = None,
) -> PlainFusion:
    """Networks for several modalities that one would build without a search.

    Args:
        modalities: the shapes of each modality's features, by its name.
        outputs: how many numbers the network gives.
        answers: what these are.
        backbones: of modalities that have one, as `fusion_space` takes them.
        most: parameters of plain networks where these have no limit; None for as many as can be.
    """
    check_sizes(outputs=outputs)
    layout = as_layout(modalities)
    # Of one modality the mean is what its network says: that is the concatenation.
    ways = (CONCATENATION, LATE) if len(layout.names) > 1 else (CONCATENATION,)
    widths = tuple(map(str, range(_NARROWEST, _WIDEST + 1)))
    chosen = numbered_backbones(layout, backbones or {})
    return PlainFusion(layout, outputs, answers, chosen, most, (ways, widths))


@dataclass(frozen=True)
class WayText:
    """`concatenation(64)` or `late-averaging(64)`: how modalities are joined, and the width."""

    def format(self, options: Sequence[str]) -> str:
        """The way, and the width in brackets."""
        way, width = options
        return f"{way}({width})"

    def parse(self, text: str) -> tuple[str, ...]:
        """(way, width)."""
        found = re.fullmatch(r"\s*([a-z-]+)\((\d{1,5})\)\s*", text)
        if found is None:
            raise SpaceError(
                f"'{shortened(text, 300)}' is no plain network for modalities, which is written "
                f"like {CONCATENATION}(64) or {LATE}(64)"
            )
        return found[1], found[2]


@dataclass(frozen=True)
class PlainFusion(TimedFamily):
    """The family behind `plain_fusion`, which is raced with and not searched.

    *Concatenation*: the vectors of all modalities, one hidden layer with batch norm and ReLU, and a
    linear layer. *Late averaging*: the same for each modality by itself, all equally wide; their
    probabilities are averaged. Backbones are those of the networks that are searched.

    Costs, all exact:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions and linear layers, and what backbones of a user's own
            take.
        size: bytes of the file of weights, at most.
        latency: microseconds for one sample, where `timed` has measured them.
        peak: bytes of activations that one sample takes at once (`families.live_memory`).
    """

    layout: RowLayout
    outputs: int
    answers: Answers
    backbones: tuple[tuple[int, str | Backbone], ...]
    most: int | None
    options: tuple[tuple[str, ...], tuple[str, ...]]

    @cached_property
    def space(self) -> Space:
        """How modalities are joined, and how wide the hidden layer is, or are."""
        way, width = (tuple(map(Option, names)) for names in self.options)
        return Space((Decision("way", way), Decision("width", width)), WayText())

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Of backbones, the same for all; of heads, by what comes into them and their width."""
        with torch.device("meta"):
            standing = dict(stand_ins(self.backbones, self.layout))
            networks = make_backbones(standing, self.layout.columns, CHILD)
            reader = FlatReader(self.layout.columns, networks, self._last)
        constants = {
            "params": parameters(reader),
            "flops": multiply_adds(reader, (self.layout.width,)),
        }
        units = {"params": "parameters", "flops": "multiply-adds"}
        found = {}
        for cost, unit in units.items():
            table = np.zeros(self.space.sizes, dtype=np.int64)
            norm = 2 if cost == "params" else 0
            for row, way in zip(table, self.options[0], strict=True):
                inputs = reader.widths if way == LATE else [sum(reader.widths)]
                for k, hidden in enumerate(map(int, self.options[1])):
                    each = hidden * (1 + norm + self.outputs) + self.outputs
                    row[k] = hidden * sum(inputs) + len(inputs) * each
            factors = (Factor((0, 1), table),)
            found[cost] = CostTerms(self.space.sizes, constants[cost], factors, unit)
        size = {"size": stored_size(self, reader.widths), **int8_size(self, reader.widths)}
        return {**found, **size, **self.timed_costs}

    def timed(self, device: Device = "cpu") -> PlainFusion:
        """With a latency for every network."""
        return self.with_latency(timed_terms(self, device))

    def reader(self) -> FlatReader:
        """What reads a sample, the same for all networks."""
        networks = make_backbones(dict(self.backbones), self.layout.columns, CHILD)
        return FlatReader(self.layout.columns, networks, self._last)

    counted: ClassVar[bool] = False

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once, measured."""
        own = any(callable(each) for _, each in self.backbones)
        return WhenAsked(peak=partial(MeasuredPeak, self, "cpu" if own else "meta"))

    @cached_property
    def _read(self) -> tuple[Feature, ...]:
        """The features that are read: of a modality with a backbone, the last that this gives."""
        features = read_features(self.layout, self.backbones)
        last = {feature.modality: feature for feature in features}
        behind = dict(self.backbones)
        return tuple(f for f in features if f.modality not in behind or f == last[f.modality])

    @property
    def _last(self) -> dict[int, Shape]:
        """The shape of the last feature that each backbone gives, by its modality's number."""
        shapes = {feature.modality: feature.shape for feature in self._read}
        return {number: shapes[number] for number, _ in self.backbones}

    has_plain: ClassVar[bool] = True
    explained: ClassVar[str] = "--modalities says what each modality is worth to it"

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """The widest of each kind that keeps the limits; without one on parameters, `most`."""
        ways, widths = self.options
        found = []
        for way in ways:
            kept = dict(limits)
            if self.most is not None:
                least = self.cost(f"{way}({widths[0]})")  # there is one where nothing forbids it
                kept.setdefault("params", max(self.most, least))
            count = bisect_left(widths, True, key=partial(self._too_large, way, kept))
            found += [self.parse(f"{way}({widths[count - 1]})")] if count else []
        return tuple(found)

    def _too_large(self, way: str, limits: Mapping[str, int], width: str) -> bool:
        """Of one width; what is wider costs more."""
        return not self.fits(f"{way}({width})", limits)

    def supernet(self, seed: int = 0) -> NoReturn:
        """There is none: such networks race beside others, and nobody searches among them."""
        del seed
        raise UsageError(
            "plain networks for several modalities are trained, not searched; search with --space "
            "fusion, whose races they take part in"
        )

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """The network of one architecture; dropout is after hidden layers."""
        if auxiliary:
            raise UsageError(
                "plain networks for several modalities have no auxiliary head; set auxiliary to 0"
            )
        kind, arguments = self._arguments(architecture)
        with seeded(seed):
            return kind(**arguments, dropout=dropout)

    def _arguments(
        self, architecture: Architecture | str
    ) -> tuple[type[Concatenation | LateAveraging], dict[str, Any]]:
        """The class of a network, and what it is made with."""
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        way, width = found.options
        arguments: dict[str, Any] = {
            "modalities": self.layout.columns,
            "backbones": dict(self.backbones),
            "last": self._last,
            "hidden": int(width),
            "outputs": self.outputs,
        }
        if way == CONCATENATION:
            return Concatenation, arguments
        return LateAveraging, {**arguments, "answers": self.answers}

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One sample that lacks nothing."""
        return Running(module, (torch.ones(1, self.layout.width, device=device),))

    def restrict(self, kept: Sequence[np.ndarray]) -> PlainFusion:
        """The same networks with fewer options to choose from."""
        ways, widths = keep(self.options, kept)
        return replace(self, options=(ways, widths), latency=self.restricted_latency(kept))

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Features, hidden layers, the output."""
        way, width = self.as_architecture(architecture).options
        read: dict[int, list[tuple[str, str]]] = {}
        for one in self._read:
            name = f"{self.layout.names[one.modality]}.{one.place}"
            read.setdefault(one.modality, []).append((name, ""))
        every = [pair for own in read.values() for pair in own]
        names = tuple(name for name, _ in every)
        if way == CONCATENATION:
            nodes = [
                Node("joined", tuple(every), "concatenation"),
                Node("hidden", (("joined", "linear"),)),
                Node("output", (("hidden", "linear"),)),
            ]
            return (Drawing(f"features, {width} hidden units, output", names, tuple(nodes)),)
        pairs = enumerate(read.values(), start=1)
        nodes = [Node(f"hidden {number}", tuple(own), "linear") for number, own in pairs]
        nodes.append(Node("output", tuple((node.name, "linear") for node in nodes), "mean"))
        title = f"features, {width} hidden units for each modality, output"
        return (Drawing(title, names, tuple(nodes)),)

    def source(self, architecture: Architecture | str) -> str:
        """The network and what reads a row."""
        check_source({self.layout.names[number]: own for number, own in self.backbones})
        found = self.as_architecture(architecture)
        kind, arguments = self._arguments(found)
        about = about_rows(self.layout, self.outputs) + "    "
        return network_source(kind, arguments, found.text, about)
