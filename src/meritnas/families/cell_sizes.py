"""The sizes that specs of networks of cells for images have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from meritnas.families.presets.images import ImageRecipe
from meritnas.settings.fields import shown
from meritnas.settings.halving import IMAGES, Halving
from meritnas.settings.spec import SpaceSpec

MOST_CHANNELS = 10_000
MOST_CELLS = 200
"""Sizes that no machine trains, which is found out late."""

_CHANNELS = shown(usual="by preset", least=1, most=MOST_CHANNELS)
_CELLS = shown(usual="by preset", least=1, most=MOST_CELLS)
_SIZES = ("channels", "cells", "supernet_channels", "supernet_cells", "partial_channels")


@dataclass(frozen=True)
class CellSizes(SpaceSpec):
    """Networks of cells and their supernet, which may be smaller.

    Attributes:
        channels: Of the first cells.
        cells: In all.
        supernet_channels: Of the supernet's first cells.
        supernet_cells: Of the supernet.
        partial_channels: K of PC-DARTS: operations see 1/K of the supernet's channels.
    """

    data: ClassVar[str] = "images"
    networks: ClassVar[str] = "networks for images"
    channels_in_parts: ClassVar[bool] = True
    halving: ClassVar[Halving] = IMAGES

    channels: int | None = field(default=None, metadata=_CHANNELS)
    cells: int | None = field(default=None, metadata=_CELLS)
    supernet_channels: int | None = field(default=None, metadata=_CHANNELS)
    supernet_cells: int | None = field(default=None, metadata=_CELLS)
    partial_channels: int | None = field(
        default=None, metadata=shown(usual="by strategy", least=1, most=MOST_CHANNELS)
    )

    def sized(self, recipe: ImageRecipe) -> Self:
        """The same with all sizes, those that are open as the recipe has them."""
        usual = {
            "channels": recipe.channels,
            "cells": recipe.cells,
            "supernet_channels": recipe.supernet_channels,
            "supernet_cells": recipe.supernet_cells,
            "partial_channels": recipe.partial,
        }
        return replace(
            self, **{name: usual[name] for name in _SIZES if getattr(self, name) is None}
        )

    def shared_weights(self, family: Any) -> int:
        """Those of all operations, in a network as large as the supernet."""
        terms = family.costs["params"]
        wider = (self.supernet_channels or family.channels) / family.channels
        longer = (self.supernet_cells or family.cells) / family.cells
        options = (terms.of_all - terms.constant) / (self.partial_channels or 1) ** 2
        return int((terms.constant + options) * wider**2 * longer)

    def small(self, family: Any) -> Any:
        """The family with as many channels and cells as the supernet."""
        return replace(
            family,
            channels=self.supernet_channels or family.channels,
            cells=self.supernet_cells or family.cells,
        )

    def supernet(self, family: Any, seed: int) -> Any:
        """Fresh shared weights, as large as this spec says."""
        return family.supernet(
            seed, self.supernet_channels, self.supernet_cells, self.partial_channels or 1
        )
