"""Which residual networks for tables are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from meritnas.families.presets.tables import tables_preset
from meritnas.families.widths import check_widths
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec

if TYPE_CHECKING:
    from meritnas.families.built.family import BuiltSpace


@dataclass(frozen=True)
class Residual(SpaceSpec):
    """Residual networks for tables: how wide, how many blocks, how wide inside each.

    Attributes:
        blocks: Residual blocks, at most.
        widths: What the network and each of its blocks choose from.
    """

    name: ClassVar[str] = "residual"
    data: ClassVar[str] = "table"
    networks: ClassVar[str] = "residual networks for tables"

    blocks: int = field(default=4, metadata=shown(least=1, most=32))
    widths: tuple[int, ...] = field(
        default=(8, 16, 32, 64, 128), metadata=shown(metavar="LIST", usual="8,16,32,64,128")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "widths", check_widths(self.widths))

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """By the table's size."""
        del partial_channels
        return tables_preset(self, name, facts)

    def build(self, inputs: Any, outputs: int, limits: Mapping[str, int]) -> BuiltSpace:
        """What the build function makes of such columns."""
        from meritnas.families.built.family import space_of
        from meritnas.families.residual.network import residual_network

        del limits
        options = {"widths": self.widths, "blocks": self.blocks}
        return space_of(residual_network, inputs, outputs, options=options, spec=self)
