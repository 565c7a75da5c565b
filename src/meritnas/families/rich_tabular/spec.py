"""Which networks for tables are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from meritnas.errors import UsageError
from meritnas.families.presets.tables import tables_preset
from meritnas.families.widths import (
    PAPER_WIDTHS,
    WIDEST_LAYER,
    Widths,
    checked_widths,
    layer_widths,
)
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec

if TYPE_CHECKING:
    from meritnas.data.columns.inputs import TableInputs
    from meritnas.families.rich_tabular.family import RichTabularSpace
    from meritnas.families.tabular.family import TabularSpace

_MOST_DECISIONS = 16
_WEIGHTS_A_DECISION = 1000
_WEIGHTS_A_MEMBER = 2000
_LAYERS = 3


@dataclass(frozen=True)
class RichTabular(SpaceSpec):
    """Networks for tables: how each column enters, how many layers, shortcuts and members.

    Attributes:
        layers: Hidden layers, at most.
        widths: What layers choose from: "8,16,32", or for each layer "8,16;16,32,64".
        frequencies: Numbers of frequencies that a number may enter with, beside plain; 0 for none.
        members: Numbers of networks that share weights to choose from.
        shortcuts: Whether layers after the first may add what they read to what they make.
        embedding: Width of every category's embedding.
    """

    name: ClassVar[str] = "rich-tabular"
    data: ClassVar[str] = "table"
    networks: ClassVar[str] = "networks for tables"

    layers: int | None = field(
        default=None,
        metadata=shown(usual="3, or as many as there are lists of widths", least=1, most=32),
    )
    widths: Widths = field(
        default=PAPER_WIDTHS, metadata=shown(metavar="LIST", usual="20 sizes from 8 to 512")
    )
    frequencies: tuple[int, ...] = field(
        default=(2, 4, 8), metadata=shown(metavar="LIST", usual="2,4,8")
    )
    members: tuple[int, ...] = field(
        default=(1, 2, 4), metadata=shown(metavar="LIST", usual="1,2,4")
    )
    shortcuts: bool = True
    embedding: int | None = field(
        default=None, metadata=shown(usual="of several sizes", least=1, most=WIDEST_LAYER)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "widths", checked_widths(self.widths, self._most_layers))
        for name, least, most in (("frequencies", 0, 64), ("members", 1, 32)):
            given = getattr(self, name)
            if not given or not all(least <= count <= most for count in given):
                raise UsageError(
                    f"{name} must be numbers from {least} to {most}, got {list(given)}; give "
                    "some such as 2,4"
                )
            object.__setattr__(self, name, tuple(sorted(set(given))))

    @property
    def _most_layers(self) -> int:
        if self.layers is not None:
            return self.layers
        lists = any(isinstance(each, Collection) for each in self.widths)
        return len(self.widths) if lists else _LAYERS

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """By the table's size."""
        del partial_channels
        return tables_preset(self, name, facts)

    def build(
        self, inputs: TableInputs, outputs: int, limits: Mapping[str, int]
    ) -> RichTabularSpace:
        """Networks for such columns; there is the less to decide, the fewer weights there may be.

        One decision about numbers, and one about categories, for each 1,000 weights, at most 16
        each; a member for each 2,000 weights. Embeddings leave a limit on weights to the layers.
        """
        from meritnas.families.rich_tabular.entries import entries_of
        from meritnas.families.rich_tabular.family import rich_tabular_space
        from meritnas.families.tabular.embedding_room import most_weights, narrowed

        plain = self._plain(inputs, outputs)
        columns, weights = narrowed(plain, limits).inputs, most_weights(plain, limits)
        most, members = _MOST_DECISIONS, self.members
        if weights is not None:
            most = min(most, max(1, weights // _WEIGHTS_A_DECISION))
            members = tuple(count for count in members if count <= weights // _WEIGHTS_A_MEMBER)
        frequencies = [count for count in self.frequencies if count]
        return rich_tabular_space(
            columns,
            outputs,
            entries_of(columns, frequencies, most),
            plain.widths,
            members or self.members[:1],
            self.shortcuts,
            self,
        )

    def most_codes(self, family: RichTabularSpace, limits: Mapping[str, int]) -> int | None:
        """Fewer categories where embeddings take too much of what the limits allow."""
        from meritnas.families.tabular.embedding_room import most_categories

        layout = family.layout
        return most_categories(self._plain(layout.inputs, layout.outputs), limits)

    def _plain(self, inputs: TableInputs, outputs: int) -> TabularSpace:
        """Layers alone, with usual embeddings."""
        from meritnas.families.tabular.family import tabular_space

        columns = replace(inputs, embedding=self.embedding)
        widths = layer_widths(self.widths, self._most_layers)
        return tabular_space(columns, outputs, len(widths), widths)
