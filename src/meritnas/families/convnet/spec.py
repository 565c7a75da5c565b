"""Which networks in stages are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from meritnas.errors import UsageError
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.presets.images import images_recipe
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec
from meritnas.wording import did_you_mean

if TYPE_CHECKING:
    from meritnas.families.convnet.family import ConvnetSpace


@dataclass(frozen=True)
class Convnet(SpaceSpec):
    """Image networks in stages: how many, which blocks, how wide, on images how large.

    Attributes:
        blocks: What stages choose from: "plain3,residual3".
    """

    name: ClassVar[str] = "convnet"
    data: ClassVar[str] = "images"
    networks: ClassVar[str] = "networks for images"

    blocks: str = field(default=",".join(BLOCKS), metadata=shown(metavar="LIST", usual="all ten"))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.block_names:
            if name not in BLOCKS:
                raise UsageError(
                    f"no block '{name}';{did_you_mean(name, BLOCKS)} there are {', '.join(BLOCKS)}"
                )
        if len(set(self.block_names)) != len(self.block_names):
            raise UsageError(f"blocks must differ, got '{self.blocks}'; remove the repeated ones")

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
        return convnet_space(outputs, inputs, self.block_names)
