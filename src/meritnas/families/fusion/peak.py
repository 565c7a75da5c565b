"""The memory that networks for several modalities need at once, as `families.live_memory` counts.

A row is there until all features are read from it; backbones run first, then each wanted feature is
brought to the shape of cells. A feature is kept until the last cell that reads it, what a cell
gives until the end. So that little must be remembered, decisions are read feature by feature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from meritnas.cost.maximum import Bound, automaton
from meritnas.cost.terms import amount_text
from meritnas.families.family import seeded
from meritnas.families.fusion.backbone import Backbone
from meritnas.families.fusion.child import Reshape
from meritnas.families.fusion.fusion_memory import Sizes, Walk, places
from meritnas.families.fusion.operations import make_fusion
from meritnas.families.fusion.reader import make_backbones
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT, Program, moments, recorded
from meritnas.families.operations import CHILD
from meritnas.plugins import own_code
from meritnas.space.decision import Decision
from meritnas.space.rule import Levels

if TYPE_CHECKING:
    from meritnas.families.fusion.family import FusionSpace

_ANYTHING = 2**62


@dataclass(frozen=True)
class FusionPeak:
    """The most that is alive at once in a network for several modalities.

    Attributes:
        walk: through its decisions.
        unit: what is counted.
    """

    walk: Walk
    unit: str = PEAK_UNIT

    @property
    def most(self) -> int:
        """No architecture costs more: as if all features and all that cells give were kept."""
        sizes, cells, steps = self.walk.sizes, len(self.walk.plans), len(self.walk.plans[0].steps)
        count = len(sizes.modalities)
        names = {
            name
            for plan in self.walk.plans
            for s in plan.steps
            for name in self.walk.options[s.operation]
        }
        largest = max(sizes.operations(name, True, True) for name in names)
        backbones = sum(
            sizes.reading(m, (True,) * sizes.modalities.count(m)) for m in set(sizes.modalities)
        )
        reading = sizes.row + backbones + sum(sizes.reshaped)
        return sizes.always + reading + (2 * count + cells + 2 * steps) * sizes.feature + largest

    def text(self, amount: int) -> str:
        """In kilobytes."""
        return amount_text(amount, 1000)

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        return np.array([self._of(row) for row in picks.tolist()], dtype=np.int64)

    def _of(self, picks: Sequence[int]) -> int:
        state, largest = self.walk.begin(), self.walk.sizes.always
        for place, about in enumerate(self.walk.places):
            found, known = self.walk.after(place, state, picks[about.number])
            assert found is not None
            state, largest = found, max(largest, known)
        return largest

    def bound(self, most: int) -> Bound:
        """An automaton: what networks can be like after each decision."""
        if self.walk.sizes.always > most:
            most = -1
        return Bound((), _levels(self.walk, most), of_maximum=True)


@dataclass(frozen=True)
class FeatureByFeature:
    """The rule of a fusion space, read in the order in which its memory is followed.

    Attributes:
        walk: through its decisions, whatever they take.
        words: the rule for people.
    """

    walk: Walk
    words: str

    def __str__(self) -> str:
        return self.words

    def order(self, decisions: int) -> tuple[int, ...]:
        """All decisions on features first."""
        assert decisions == len(self.walk.places)
        return tuple(about.number for about in self.walk.places)

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """The rule in this order."""
        del decisions
        return _levels(self.walk, _ANYTHING)


def _levels(walk: Walk, most: int) -> Levels:
    sizes = [len(walk.options[about.number]) for about in walk.places]
    return automaton(walk.begin(), walk.after, sizes, most)


def peak_cost(family: FusionSpace) -> FusionPeak:
    """For the sizes and the backbones of a family."""
    feature = BYTES_A_NUMBER * family.channels * family.length
    backbones, programs = dict(family.backbones), []
    for number, (_, shapes) in enumerate(family.layout.modalities):
        programs.append(_modality(backbones.get(number), shapes))
    parts = []
    for one in family.features:
        program, ends = programs[one.modality]
        parts.append(BYTES_A_NUMBER * program.numbers[ends[one.place]])
    reshaped = [
        _reshaped(one.shape, family.channels, family.length, part)
        for one, part in zip(family.features, parts, strict=True)
    ]
    cells = family.cells * feature
    making = (family.channels, family.length, *family.sparsity)
    sizes = Sizes(
        BYTES_A_NUMBER * family.layout.width,
        feature,
        tuple(one.modality for one in family.features),
        tuple(parts),
        tuple(reshaped),
        partial(_reading, tuple(programs)),
        partial(_operation, making),
        max(2 * cells, cells + BYTES_A_NUMBER * family.outputs),
    )
    return FusionPeak(_walk(family, sizes))


def feature_by_feature(family: FusionSpace) -> FeatureByFeature:
    """The family's rule in another order."""
    count = len(family.features)
    modalities = tuple(one.modality for one in family.features)
    nothing = Sizes(0, 0, modalities, (0,) * count, (0,) * count, _at_once, _nothing, 0)
    return FeatureByFeature(_walk(family, nothing), str(family.space.rule))


def _walk(family: FusionSpace, sizes: Sizes) -> Walk:
    order = tuple(places(family.plans, len(family.features)))
    return Walk(sizes, order, family.options, family.plans, family.new_inputs)


def _at_once(modality: int, wanted: tuple[bool, ...]) -> int:
    del modality, wanted
    return 0


def _nothing(name: str, first: bool, second: bool) -> int:
    del name, first, second
    return 0


@lru_cache(maxsize=256)
def _modality(
    backbone: str | Backbone | None, shapes: tuple[tuple[int, ...], ...]
) -> tuple[Program, tuple[int, ...]]:
    """What is done with a modality's features as they come in, and where those for cells are.

    A backbone of a user's own runs for real, once.
    """
    if backbone is None:
        program = Program([math.prod(shape) for shape in shapes])
        return program, tuple(program.inputs)
    device = "meta" if isinstance(backbone, str) else "cpu"
    with seeded(0), torch.device(device), own_code("a backbone"):
        network = make_backbones({0: backbone}, [(0, shapes)], CHILD)[0].eval()
        program, ends = recorded(network, [torch.zeros(1, *shape) for shape in shapes])
    return program, tuple(ends)


@lru_cache(maxsize=4096)
def _reading(
    programs: tuple[tuple[Program, tuple[int, ...]], ...], modality: int, wanted: tuple[bool, ...]
) -> int:
    """See `Sizes.reading`: features are taken from the row one by one, then a backbone runs."""
    program, ends = programs[modality]
    last = [place for place, want in zip(ends, wanted, strict=True) if want]
    sizes = [BYTES_A_NUMBER * program.numbers[place] for place in program.inputs]
    found = program.moments(last)
    read = set(found[0].inputs) if found else {program.inputs.index(place) for place in last}
    most, before = 0, 0
    for number, size in enumerate(sizes):
        most = max(most, before + size)
        before += size if number in read else 0
    return max([most, *(one.own + sum(sizes[k] for k in one.inputs) for one in found)])


@cache
def _reshaped(shape: tuple[int, ...], channels: int, length: int, part: int) -> int:
    """What it takes to bring a feature to the shape of cells.

    Args:
        shape: that it has.
        channels: that it gets.
        length: that it gets.
        part: bytes of what it is before.
    """
    with torch.device("meta"):
        module = Reshape(shape, channels, length, CHILD, 0.0).eval()
        found = moments(module, [torch.zeros(1, *shape)])
    return max(one.own + (part if one.inputs else 0) for one in found)


@cache
def _operation(
    making: tuple[int, int, float, float, int, int], name: str, first: bool, second: bool
) -> int:
    """What an operation takes beside inputs that are read again; see `Sizes.operations`.

    Args:
        making: channels and length of features; of sparse operations l1, l2, kernel and steps.
        name: of it.
        first: whether its first input is read again.
        second: whether its second one is.
    """
    channels, length, l1, l2, kernel, steps = making
    with torch.device("meta"):
        made = make_fusion(name, channels, length, CHILD, 0.0, l1, l2, kernel, steps).eval()
        inputs = [torch.zeros(1, channels, length) for _ in range(2)]
        kept = [number for number, again in enumerate((first, second)) if again]
        found = moments(made, inputs, kept)
    size = BYTES_A_NUMBER * channels * length
    return max(one.own + size * len(set(one.inputs).difference(kept)) for one in found)
