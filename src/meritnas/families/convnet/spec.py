"""Which networks in stages are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from meritnas.errors import UsageError
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.presets.images import images_recipe
from meritnas.families.widths import Widths, checked_widths, layer_widths
from meritnas.settings.fields import shown
from meritnas.settings.halving import IMAGES, Halving
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec
from meritnas.wording import did_you_mean, shortened

if TYPE_CHECKING:
    from meritnas.families.convnet.family import ConvnetSpace


WIDTHS = (
    (8, 16, 24, 32, 48, 64),
    (16, 24, 32, 48, 64, 96, 128),
    (32, 48, 64, 96, 128, 192, 256),
    (64, 96, 128, 192, 256),
)
"""What stages choose from, the first stage first."""


PLAIN_BLOCKS = ("plain3", "residual3")
"""Of networks that one would build without a search."""


@dataclass(frozen=True)
class Convnet(SpaceSpec):
    """Image networks in stages: how many, which blocks, how wide, on images how large.

    Attributes:
        blocks: What stages choose from: "plain3,residual3".
        widths: Channels: "16,32,64", or for each stage "16,32;32,64,128".
    """

    name: ClassVar[str] = "convnet"
    data: ClassVar[str] = "images"
    networks: ClassVar[str] = "networks for images"
    halving: ClassVar[Halving] = IMAGES

    blocks: str = field(default=",".join(BLOCKS), metadata=shown(metavar="LIST", usual="all ten"))

    widths: Widths = field(
        default=WIDTHS, metadata=shown(metavar="LIST", usual="5 to 7 sizes from 8 to 256")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        stages = len(self.widths) if any(isinstance(x, Collection) for x in self.widths) else 1
        object.__setattr__(self, "widths", checked_widths(self.widths, stages))
        if stages > len(WIDTHS):
            raise UsageError(f"widths are for at most {len(WIDTHS)} stages, got {stages} lists")
        for name in self.block_names:
            if name not in BLOCKS:
                raise UsageError(
                    f"no block '{shortened(name)}';{did_you_mean(name, BLOCKS)} there are "
                    f"{', '.join(BLOCKS)}"
                )
        if len(set(self.block_names)) != len(self.block_names):
            raise UsageError(
                f"blocks must differ, got '{shortened(self.blocks)}'; remove the repeated ones"
            )

    @property
    def block_names(self) -> tuple[str, ...]:
        """One by one."""
        return tuple(name.strip() for name in self.blocks.split(","))

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """As small networks for images are trained quickly."""
        del partial_channels
        recipe = images_recipe(name, "convnet", facts, 1)
        return recipe.preset(self, finalists=3, threads=None)

    def build(
        self, inputs: tuple[int, int, int], outputs: int, limits: Mapping[str, int]
    ) -> ConvnetSpace:
        """Networks for images of this shape (channels, height, width)."""
        from meritnas.families.convnet.family import convnet_space

        del limits
        stages = len(self.widths) if isinstance(self.widths[0], tuple) else len(WIDTHS)
        widths = layer_widths(self.widths, stages)
        return convnet_space(outputs, inputs, self.block_names, widths)


PLAIN = Convnet(blocks=",".join(PLAIN_BLOCKS))
"""Such networks alone, which race beside other spaces."""
