"""Networks for images in stages: how many, which blocks, how wide, and for images how large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.convnet.absent_stages import UNUSED, AbsentStages
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.convnet.child import ConvNetwork
from meritnas.families.convnet.costs import Side, counted_costs
from meritnas.families.convnet.peak import peak_cost
from meritnas.families.convnet.spec import PLAIN_BLOCKS, WIDTHS, Convnet
from meritnas.families.convnet.supernet import ConvSupernet, StageOptions
from meritnas.families.convnet.text import NO_STAGE, StagesText
from meritnas.families.convnet.timing import timed_terms
from meritnas.families.drawing import Drawing, Node
from meritnas.families.family import Running, keep, seeded
from meritnas.families.image_size import ImageShape, check_image
from meritnas.families.latency import Device
from meritnas.families.operations import halved
from meritnas.families.source import network_source
from meritnas.families.timed import TimedFamily
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import ABSENT
from meritnas.space.space import Space
from meritnas.wording import shortened

_PLAIN_SHAPES = ((2, 2, 1), (1, 1, 1), (2, 1), (1, 1))
_DEPTHS = ((1, 2, 3), (1, 2, 3), (0, 1, 2, 3), (0, 1, 2))
_SCALES = (1.0, 0.75, 0.5)
_LEAST_SIDE = 8
"""Images are not scaled to fewer pixels than this each way."""

_LEAST_LAST = 2
"""A stage is not offered where it would have fewer pixels than this each way."""


def convnet_space(
    classes: int = 10,
    image: ImageShape = (3, 32, 32),
    block_names: Sequence[str] = tuple(BLOCKS),
    widths: Sequence[Sequence[int]] = WIDTHS,
) -> ConvnetSpace:
    """Stages of equal blocks: how many, which, how wide, on images how large?

    Args:
        classes: the number of outputs; one where there are two classes.
        image: (channels, height, width) of what comes in.
        block_names: the blocks that stages choose from.
        widths: channels that each stage chooses from; there are at most so many stages.
    """
    if classes < 1:
        raise SpaceError(f"classes must be at least 1, got {classes}")
    for name in block_names:
        if name not in BLOCKS:
            raise SpaceError(f"no block '{shortened(name)}'; there are {', '.join(BLOCKS)}")
    shape = check_image(image)
    sides = shape[1:]
    sizes = [sides]
    for scale in _SCALES[1:]:
        smaller = tuple(2 * round(scale * side / 2) for side in sides)
        if min(smaller) >= _LEAST_SIDE:
            sizes.append((smaller[0], smaller[1]))
    stages, side, least = [], min(sides), min(sizes[-1])
    for own, depths in zip(widths, _DEPTHS, strict=False):
        # Of a kernel that reaches beyond the image from everywhere, the border is not used.
        names = tuple(name for name in block_names if BLOCKS[name].kernel // 2 < least)
        if side < _LEAST_LAST or not names:
            break
        stages.append((depths, names, tuple(own)))
        side, least = halved(side), halved(least)
    options = [tuple(f"{h}x{w}" for h, w in sizes)]
    for depths, names, own in stages:
        options += [tuple(map(str, depths)), names, tuple(map(str, own))]
    return ConvnetSpace(classes, shape, tuple(options))


@dataclass(frozen=True)
class ConvnetSpace(TimedFamily):
    """The family behind `convnet_space`.

    Images are scaled by averaging, if at all. Each stage is a number of equal blocks, the first of
    which changes the number of channels; between stages the maximum of each 2 by 2 pixels is taken.
    Global average pooling and a linear layer follow. The later stages may be absent. A plain
    network of five convolutions is `28x28 plain3(32x2) plain3(64x2) plain3(128x1)`.

    Costs, all exact:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions and the linear layer for one image.
        size: bytes of the file of weights, at most.
        latency: microseconds for one image, where `timed` has measured them.
        peak: bytes of activations that one image takes at once (`families.live_memory`).

    Attributes:
        classes: how many numbers come out.
        image: (channels, height, width) of what comes in.
        options: names of the options of every decision: the size of images, then for each stage how
            many blocks, which, how wide.
        unused: of each stage (block, width) where it is absent.
    """

    classes: int
    image: ImageShape
    options: tuple[tuple[str, ...], ...]
    unused: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.unused:
            firsts = [names[0] for names in self.options[1:]]
            pairs = tuple(zip(firsts[1::3], firsts[2::3], strict=True))
            object.__setattr__(self, "unused", pairs)

    @property
    def stages(self) -> int:
        """How many there are at most."""
        return len(self.options) // 3

    @cached_property
    def space(self) -> Space:
        """The size of images, then three decisions a stage."""
        decisions = [Decision("size", tuple(map(Option, self.options[0])))]
        for stage, (block, width) in enumerate(self.unused):
            depths, names, widths = self.options[1 + 3 * stage : 4 + 3 * stage]
            number = stage + 1
            decisions += [
                Decision(f"depth{number}", tuple(_tagged(n, NO_STAGE, ABSENT) for n in depths)),
                Decision(f"block{number}", tuple(_tagged(n, block, UNUSED) for n in names)),
                Decision(f"width{number}", tuple(_tagged(n, width, UNUSED) for n in widths)),
            ]
        return Space(tuple(decisions), StagesText(self.unused), AbsentStages())

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Of each stage together with the width before it, and of the linear layer."""
        return {**counted_costs(self), **self.timed_costs}

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self))

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One image."""
        return Running(module, (torch.zeros(1, *self.image, device=device),))

    def timed(self, device: Device = "cpu") -> ConvnetSpace:
        """With a latency for every network."""
        return self.with_latency(timed_terms(self, device))

    def befores(self, stage: int) -> list[int]:
        """Channels that may come into a stage."""
        return self.numbers(stage - 1)[2] if stage else [self.image[0]]

    def numbers(self, stage: int) -> tuple[list[int], tuple[str, ...], list[int]]:
        """(depths, blocks, widths) of a stage."""
        depths, names, widths = self.options[1 + 3 * stage : 4 + 3 * stage]
        return [int(n) for n in depths], names, [int(n) for n in widths]

    def sides(self, stage: int) -> list[Side]:
        """Height and width in a stage for each size of images."""
        found = []
        for height, width in map(_size, self.options[0]):
            for _ in range(stage):
                height, width = halved(height), halved(width)
            found.append((height, width))
        return found

    def supernet(self, seed: int = 0) -> ConvSupernet:
        """Every block at its widest."""
        stages = []
        for stage in range(self.stages):
            depths, names, widths = self.numbers(stage)
            stages.append(StageOptions(tuple(depths), names, tuple(widths)))
        with seeded(seed):
            return ConvSupernet(
                [_size(text) for text in self.options[0]],
                stages,
                self.image[0],
                self.image[1:],
                self.classes,
                lambda picks: self.child(self.space.architecture(picks)),
            )

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> ConvNetwork:
        """The network of one architecture; `dropout` is the rate of drop-path."""
        if auxiliary:
            raise UsageError(
                "networks of the space convnet have no auxiliary head; set auxiliary to 0"
            )
        with seeded(seed):
            return ConvNetwork(**self._arguments(architecture), drop_path=dropout)

    def _arguments(self, architecture: Architecture | str) -> dict[str, Any]:
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        size, *rest = found.options
        stages = [
            (block, int(width), int(depth))
            for depth, block, width in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
            if depth != NO_STAGE
        ]
        scaled = None if _size(size) == self.image[1:] else _size(size)
        return {
            "stages": stages,
            "colours": self.image[0],
            "size": scaled,
            "classes": self.classes,
        }

    has_plain: ClassVar[bool] = True
    explained: ClassVar[str] = "search with --space convnet to have them explained"

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """A plain and a residual network with 3x3 convolutions, as deep and then as wide as fits.

        On images as they are, in three stages or two, twice as wide from each to the next, of two
        blocks each and one in the last, or of one each: the first of these shapes that fits at
        all, as wide as fits. With 32, 64 and 128 channels it is the usual small network.
        """
        found = []
        for block in PLAIN_BLOCKS:
            for shape in _PLAIN_SHAPES:
                fitting = [one for one in self._even(block, shape) if self.fits(one, limits)]
                if fitting:
                    found.append(max(fitting, key=self.cost))
                    break
        return tuple(found)

    def _even(self, block: str, shape: Sequence[int]) -> Iterator[Architecture]:
        """Networks with so many blocks in each stage, of every width."""
        for first in self.numbers(0)[2]:
            stages = [f"{block}({first * 2**k}x{depth})" for k, depth in enumerate(shape)]
            with suppress(SpaceError):  # not all of it is offered here
                yield self.parse(" ".join([self.options[0][0], *stages]))

    @property
    def witnesses(self) -> Mapping[str, float]:
        """As they agree with trainings of three epochs (`benchmarks/convnet_witnesses.py`).

        Of CIFAR-10, within 200,000 parameters, Spearman's correlation with the order by validation
        loss, of 24 networks, of 14 that differ from a plain one in one decision, and of 8 at
        random: patterns .55, .80, .57; multiply-adds .79, .56, .83; parameters -.08, .58, -.29;
        patterns with multiply-adds weighted .5, 1, 2: .70, .82, .63; .82, .81, .76; .80, .70, .83.
        The smallest of these weights, for multiply-adds are also what makes training slow.
        """
        return {"one-shot": 0.5, "flops": 0.5, "patterns": 1.0}

    def restrict(self, kept: Sequence[np.ndarray]) -> ConvnetSpace:
        """The same networks with fewer options to choose from."""
        latency = self.restricted_latency(kept)
        return replace(self, options=keep(self.options, kept), latency=latency)

    @property
    def spec(self) -> Convnet:
        """The blocks and widths that there are."""
        names = dict.fromkeys(name for row in self.options[2::3] for name in row)
        widths = tuple(tuple(map(int, row)) for row in self.options[3::3])
        return Convnet(blocks=",".join(names), widths=widths)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Stages in a row."""
        arguments = self._arguments(architecture)
        stages = arguments["stages"]
        assert isinstance(stages, list)
        before, nodes = "image", []
        if arguments["size"] is not None:
            nodes.append(
                Node("scaled", (("image", self.as_architecture(architecture).options[0]),))
            )
            before = "scaled"
        for number, (block, width, depth) in enumerate(stages, start=1):
            nodes.append(Node(f"stage {number}", ((before, f"{depth} {block}, {width} wide"),)))
            before = f"stage {number}"
        return (Drawing("stages; half the size from each to the next", ("image",), tuple(nodes)),)

    def source(self, architecture: Architecture | str) -> str:
        """The network and the blocks that it has."""
        about = f"Images [n, {', '.join(map(str, self.image))}] -> scores [n, {self.classes}]."
        found = self.as_architecture(architecture)
        return network_source(ConvNetwork, self._arguments(found), found.text, about)


def _tagged(name: str, special: str, tag: str) -> Option:
    return Option(name, frozenset({tag}) if name == special else frozenset())


def _size(text: str) -> tuple[int, int]:
    height, _, width = text.partition("x")
    return int(height), int(width)
