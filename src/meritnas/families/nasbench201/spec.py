"""Which networks of NAS-Bench-201's cells are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.families.cell_sizes import CellSizes
from meritnas.families.presets.images import images_recipe
from meritnas.settings.preset import Facts, Preset

if TYPE_CHECKING:
    from meritnas.families.nasbench201.family import Nasbench201Space


@dataclass(frozen=True)
class Nasbench201(CellSizes):
    """Image networks of equal cells: which operation on each of 6 edges.

    Attributes:
        cells: In each of 3 stages.
        zero: Whether edges may be left out.
    """

    name: ClassVar[str] = "nasbench201"

    zero: bool = True

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """As AdvantageNAS searches and NAS-Bench-201 trains, or quickly."""
        partial = self.partial_channels or partial_channels
        recipe = images_recipe(name, "nasbench201", facts, partial)
        return recipe.preset(self.sized(recipe), finalists=2, threads=None)

    def build(
        self, inputs: tuple[int, int, int], outputs: int, limits: Mapping[str, int]
    ) -> Nasbench201Space:
        """Networks for images of this shape (channels, height, width)."""
        from meritnas.families.nasbench201.family import nasbench201_space

        del limits
        sizes = {
            name: value
            for name, value in (("channels", self.channels), ("cells", self.cells))
            if value is not None
        }
        return nasbench201_space(outputs, zero=self.zero, image=inputs, **sizes)
