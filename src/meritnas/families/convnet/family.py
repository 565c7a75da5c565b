"""Networks for images in stages: how many, which blocks, how wide, and for images how large."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from torch import Tensor, nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError, UsageError
from meritnas.families.built.family import BuiltSpace, bundled_space
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.convnet.costs import counted_costs
from meritnas.families.convnet.layout import Layout
from meritnas.families.convnet.network import BLOCK, DEPTH, WIDTH, stages_network
from meritnas.families.convnet.peak import peak_cost
from meritnas.families.convnet.spec import PLAIN_BLOCKS, WIDTHS, Convnet
from meritnas.families.convnet.text import StagesText
from meritnas.families.convnet.timing import timed_terms
from meritnas.families.drawing import Drawing, Node
from meritnas.families.drop_path import DropPath
from meritnas.families.family import Family
from meritnas.families.image_size import ImageShape, check_image
from meritnas.families.latency import Device
from meritnas.families.operations import halved
from meritnas.space.architecture import Architecture
from meritnas.space.space import Space
from meritnas.wording import shortened

_PLAIN_SHAPES = ((2, 2, 1), (1, 1, 1), (2, 1), (1, 1))
_DEPTHS = ((1, 2, 3), (1, 2, 3), (1, 2, 3), (1, 2))
_SCALES = (1.0, 0.75, 0.5)
_LEAST_SIDE = 8
"""Images are not scaled to fewer pixels than this each way."""

_LEAST_LAST = 2
"""A stage is not offered where it would have fewer pixels than this each way."""

_OLD_BLOCK = re.compile(r"stage(\d+)block(\d+)\.(.*)")
"""How the blocks of networks were called before they came from a build function."""


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
    options = {"sizes": tuple(sizes), "stages": tuple(stages)}
    found = bundled_space(stages_network, shape, classes, options)
    return ConvnetSpace(found.maker, found.options, origin=found.origin)


@dataclass(frozen=True)
class ConvnetSpace(BuiltSpace):
    """The family behind `convnet_space`: a build function whose costs are counted.

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
    """

    counted: ClassVar[bool] = True
    has_plain: ClassVar[bool] = True
    explained: ClassVar[str] = "search with --space convnet to have them explained"

    @property
    def image(self) -> ImageShape:
        """(channels, height, width) of what comes in."""
        reads = self.maker.reads
        assert isinstance(reads, tuple)
        return check_image(reads)

    @cached_property
    def layout(self) -> Layout:
        """The options that are kept, as numbers."""
        return Layout(self.image, self.maker.outputs, self.options)

    @cached_property
    def text(self) -> StagesText:
        """How networks are written."""
        firsts = {question.name: question.options[0] for question in self.origin.plan.questions}
        return StagesText(
            tuple(
                (firsts[f"{DEPTH}{n}"], firsts[f"{BLOCK}{n}"], firsts[f"{WIDTH}{n}"])
                for n in range(1, self.layout.stages + 1)
            )
        )

    @cached_property
    def space(self) -> Space:
        """The size of images, then how many blocks, which, how wide for each stage."""
        return replace(self.origin.plan.space(self.options), text=self.text)

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Of each stage together with the width before it, and of the linear layer."""
        return {**counted_costs(self.layout), **self.timed_costs}

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self.layout))

    def cost(self, architecture: Architecture | str, name: str = "params") -> int:
        """What an architecture costs."""
        return Family.cost(self, architecture, name)

    def timed(self, device: Device = "cpu") -> ConvnetSpace:
        """With a latency for every network."""
        return self.with_latency(timed_terms(self.layout, device))

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """The network of one architecture; `dropout` is the rate of drop-path."""
        if auxiliary:
            raise UsageError(
                "networks of the space convnet have no auxiliary head; set auxiliary to 0"
            )
        network = super().child(architecture, seed)
        if dropout:
            for module in list(network.modules()):
                if hasattr(module, "drop_path"):
                    module.drop_path = DropPath(dropout)
        return network

    @property
    def identity(self) -> Mapping[str, Any]:
        """Nothing: no code of a user's own makes them."""
        return {}

    @property
    def drops(self) -> bool:
        """Yes: paths, at the rate that is given."""
        return True

    def own_weights(
        self, architecture: Architecture | str, weights: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The weights of a child, also from names of before 0.2."""
        found = self.as_architecture(architecture)
        last = len(list(self.text.stages(found.options)))
        return {_renamed(name, last): tensor for name, tensor in weights.items()}

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
        for first in self.layout.numbers(0)[2]:
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

    @property
    def spec(self) -> Convnet:
        """The blocks and widths that there are."""
        rows = self.layout.rows
        names = dict.fromkeys(name for _, blocks, _ in rows for name in blocks)
        widths = tuple(tuple(map(int, row)) for _, _, row in rows)
        return Convnet(blocks=",".join(names), widths=widths)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Stages in a row."""
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        before, nodes = "image", []
        if found.options[0] != "x".join(map(str, self.image[1:])):
            nodes.append(Node("scaled", ((before, found.options[0]),)))
            before = "scaled"
        for number, (depth, block, width) in enumerate(self.text.stages(found.options), start=1):
            nodes.append(Node(f"stage {number}", ((before, f"{depth} {block}, {width} wide"),)))
            before = f"stage {number}"
        return (Drawing("stages; half the size from each to the next", ("image",), tuple(nodes)),)


def _renamed(name: str, stages: int) -> str:
    """A weight's name as it is now, of a network of so many stages."""
    found = _OLD_BLOCK.fullmatch(name)
    if found is not None:
        stage, block, part = found.groups()
        return f"{'rest.' * int(stage)}blocks.{int(block) - 1}.{part}"
    return name if not name.startswith("output.") else f"{'rest.' * (stages + 1)}{name}"
