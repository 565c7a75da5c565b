"""Which networks of DARTS' cells are searched, written down without torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from meritnas.errors import UsageError
from meritnas.families.cell_sizes import CellSizes
from meritnas.families.presets.images import ImageRecipe, images_recipe
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset

if TYPE_CHECKING:
    from meritnas.families.darts.family import DartsSpace

Stem = Literal["cifar", "imagenet"]
Variant = Literal["s1", "s2", "s3", "s4", "unique"]


@dataclass(frozen=True)
class Darts(CellSizes):
    """Image networks of two cells: which 2 inputs for each of 4 nodes, which operations.

    Attributes:
        stem: cifar, or imagenet for large images.
        auxiliary: Weight of an auxiliary head's loss.
    """

    name: ClassVar[str] = "darts"
    variant: ClassVar[Variant | None] = None
    usual_parts: ClassVar[int] = 4

    stem: Stem = field(default="cifar", metadata=shown(metavar="KIND"))
    auxiliary: float | None = field(default=None, metadata=shown(usual="by preset"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.auxiliary is not None and not 0 <= self.auxiliary < math.inf:
            raise UsageError(f"auxiliary must be at least 0 and finite, got {self.auxiliary}")

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """As DARTS, PC-DARTS with a part of the channels or Shapley-NAS on ImageNet; or quickly."""
        partial = self.partial_channels or partial_channels
        recipe = images_recipe(name, "darts", facts, partial, self.stem)
        usual = recipe.retrain.auxiliary
        auxiliary = usual if self.auxiliary is None else self.auxiliary
        space = replace(self.sized(recipe), auxiliary=auxiliary)
        return recipe.preset(space, finalists=2, threads=None, auxiliary=auxiliary)

    def build(
        self, inputs: tuple[int, int, int], outputs: int, limits: Mapping[str, int]
    ) -> DartsSpace:
        """Networks for images of this shape (channels, height, width)."""
        from meritnas.families.darts.family import darts_space

        del limits
        sizes = {
            name: value
            for name, value in (("channels", self.channels), ("cells", self.cells))
            if value is not None
        }
        return darts_space(outputs, variant=self.variant, image=inputs, stem=self.stem, **sizes)


@dataclass(frozen=True)
class DartsS1(Darts):
    """The same with two operations an edge, chosen by hand (RobustDARTS)."""

    name: ClassVar[str] = "darts-s1"
    variant: ClassVar[Variant | None] = "s1"


@dataclass(frozen=True)
class DartsS2(Darts):
    """The same with skip connections and separable convolutions only."""

    name: ClassVar[str] = "darts-s2"
    variant: ClassVar[Variant | None] = "s2"


@dataclass(frozen=True)
class DartsS3(Darts):
    """The same with skip connections, separable convolutions and zeros."""

    name: ClassVar[str] = "darts-s3"
    variant: ClassVar[Variant | None] = "s3"


@dataclass(frozen=True)
class DartsS4(Darts):
    """The same with noise and separable convolutions."""

    name: ClassVar[str] = "darts-s4"
    variant: ClassVar[Variant | None] = "s4"


@dataclass(frozen=True)
class DartsUnique(Darts):
    """Every cell has its own operations on all of its 14 edges (MANAS)."""

    name: ClassVar[str] = "darts-unique"
    variant: ClassVar[Variant | None] = "unique"

    def sized(self, recipe: ImageRecipe) -> Self:
        """The supernet has as many cells as the network, unless told otherwise."""
        found = super().sized(recipe)
        given = self.supernet_cells
        return replace(found, supernet_cells=found.cells if given is None else given)


VARIANTS: tuple[type[Darts], ...] = (Darts, DartsS1, DartsS2, DartsS3, DartsS4, DartsUnique)
