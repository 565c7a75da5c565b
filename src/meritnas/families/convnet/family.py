"""Networks for images in stages: how many, which blocks, how wide, and for images how large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from meritnas.cost.terms import CostTerms, Factor
from meritnas.errors import SpaceError, UsageError
from meritnas.families.convnet import blocks
from meritnas.families.convnet.absent_stages import UNUSED, AbsentStages
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.convnet.child import ConvNetwork
from meritnas.families.convnet.spec import WIDTHS, Convnet
from meritnas.families.convnet.supernet import ConvSupernet, StageOptions
from meritnas.families.convnet.text import NO_STAGE, StagesText
from meritnas.families.drawing import Drawing, Node
from meritnas.families.family import Family, keep, seeded
from meritnas.families.image_size import ImageShape, check_image
from meritnas.families.operations import halved
from meritnas.families.source import network_source
from meritnas.families.stored_size import BYTES_A_WEIGHT, header_bytes
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import ABSENT
from meritnas.space.space import Space
from meritnas.wording import shortened

_PLAIN_BLOCKS = ("plain3", "residual3")
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
class ConvnetSpace(Family):
    """The family behind `convnet_space`.

    Images are scaled by averaging, if at all. Each stage is a number of equal blocks, the first of
    which changes the number of channels; between stages the maximum of each 2 by 2 pixels is taken.
    Global average pooling and a linear layer follow. The later stages may be absent. A plain
    network of five convolutions is `28x28 plain3(32x2) plain3(64x2) plain3(128x1)`.

    Costs, all exact:
        params: sum(p.numel()).
        flops: multiply-adds of convolutions and the linear layer for one image.
        size: bytes of the file of weights, at most.

    Attributes:
        classes: how many numbers come out.
        image: (channels, height, width) of what comes in.
        options: names of the options of every decision: the size of images, then for each stage how
            many blocks, which, how wide.
        unused: of each stage (block, width) where it is absent.
        header: what a file has beside the weights; None to work it out.
    """

    classes: int
    image: ImageShape
    options: tuple[tuple[str, ...], ...]
    unused: tuple[tuple[str, str], ...] = ()
    header: int | None = None

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
        params, flops = self._terms(), self._terms(areas=True)
        found = {
            "params": CostTerms(self.space.sizes, self.classes, params, "parameters"),
            "flops": CostTerms(self.space.sizes, self.classes, flops, "multiply-adds"),
        }
        size = found["params"].scaled(
            BYTES_A_WEIGHT, self.header_bytes, "KB in a safetensors file", 1000
        )
        return {**found, "size": size}

    def _terms(self, areas: bool = False) -> tuple[Factor, ...]:
        """Factors of parameters, or of multiply-adds."""
        factors = []
        for stage in range(self.stages):
            place = 1 + 3 * stage
            depths, names, widths = self._numbers(stage)
            befores = self._numbers(stage - 1)[2] if stage else [self.image[0]]
            pixels = self._areas(stage) if areas else [1]
            table = np.zeros(
                (len(pixels), len(befores), len(depths), len(names), len(widths)), dtype=np.int64
            )
            for b, name in enumerate(names):
                for w, width in enumerate(widths):
                    rest = _block_cost(name, width, width, False, pixels, areas)
                    for k, before in enumerate(befores):
                        first = _block_cost(name, before, width, True, pixels, areas)
                        for d, depth in enumerate(depths):
                            if depth:
                                table[:, k, d, b, w] = first + (depth - 1) * rest
            numbers = ([0] if areas else []) + ([place - 1] if stage else [])
            numbers += [place, place + 1, place + 2]
            shape = [n for n, kept in zip(table.shape, (areas, stage > 0), strict=False) if kept]
            factors.append(Factor(tuple(numbers), table.reshape(*shape, *table.shape[2:])))
            factors.append(self._output_factor(stage))
        return tuple(factors)

    def _output_factor(self, stage: int) -> Factor:
        """Weights of the linear layer, paid for by the last stage that is there."""
        place = 1 + 3 * stage
        depths, _, widths = self._numbers(stage)
        there = np.array([depth > 0 for depth in depths])
        own = there[:, None] * np.array(widths)[None, :] * self.classes
        if stage + 1 == self.stages:
            return Factor((place, place + 2), own.astype(np.int64))
        last = np.array([depth == 0 for depth in self._numbers(stage + 1)[0]])
        table = own[:, :, None] * last[None, None, :]
        return Factor((place, place + 2, place + 3), table.astype(np.int64))

    def _numbers(self, stage: int) -> tuple[list[int], tuple[str, ...], list[int]]:
        """(depths, blocks, widths) of a stage."""
        depths, names, widths = self.options[1 + 3 * stage : 4 + 3 * stage]
        return [int(n) for n in depths], names, [int(n) for n in widths]

    def _areas(self, stage: int) -> list[int]:
        """Pixels of a stage for each size of images."""
        found = []
        for height, width in map(_size, self.options[0]):
            for _ in range(stage):
                height, width = halved(height), halved(width)
            found.append(height * width)
        return found

    @property
    def header_bytes(self) -> int:
        """An upper bound for what a network's file has beside its weights."""
        if self.header is not None:  # of the space that this one is a part of: costs are the same
            return self.header
        stages = [
            (max(names, key=_parts), max(widths), max(depths))
            for depths, names, widths in map(self._numbers, range(self.stages))
        ]
        with torch.device("meta"):  # only names and shapes matter
            network = ConvNetwork(stages, self.image[0], self.image[1:], self.classes)
        text = " ".join([self.options[0][0], *(f"{b}({w}x{d})" for b, w, d in stages)])
        return header_bytes(network.state_dict(), text + " " * 8 * self.stages)

    def supernet(self, seed: int = 0) -> ConvSupernet:
        """Every block at its widest."""
        stages = []
        for stage in range(self.stages):
            depths, names, widths = self._numbers(stage)
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
        """The largest plain and the largest residual network with 3x3 convolutions.

        On images as they are, in two or three stages, twice as wide from each to the next, of one
        block each, or of two each and one in the last.
        """
        found = []
        for block in _PLAIN_BLOCKS:
            fitting = [one for one in self._even(block) if self.fits(one, limits)]
            if fitting:
                found.append(max(fitting, key=self.cost))
        return tuple(found)

    def _even(self, block: str) -> Iterator[Architecture]:
        for count, two in product((2, 3), (True, False)):
            for first in self._numbers(0)[2]:
                stages = [
                    f"{block}({first * 2**k}x{2 if two and k + 1 < count else 1})"
                    for k in range(count)
                ]
                with suppress(SpaceError):  # not all of it is offered here
                    yield self.parse(" ".join([self.options[0][0], *stages]))

    def restrict(self, kept: Sequence[np.ndarray]) -> ConvnetSpace:
        """The same networks with fewer options to choose from."""
        return replace(self, options=keep(self.options, kept), header=self.header_bytes)

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


def _block_cost(
    name: str, inputs: int, width: int, first: bool, pixels: Sequence[int], areas: bool
) -> np.ndarray:
    """Weights [1], or multiply-adds for each number of pixels."""
    block = BLOCKS[name]
    if not areas:
        return np.array([blocks.parameters(block, inputs, width, first)])
    each, fixed = blocks.multiply_adds(block, inputs, width, first)
    return each * np.array(pixels) + fixed


def _parts(name: str) -> int:
    """How many tensors a block has."""
    child: nn.Module
    with torch.device("meta"):
        child = ConvNetwork([(name, 8, 2)], 3, None, 2)
    return len(child.state_dict())
