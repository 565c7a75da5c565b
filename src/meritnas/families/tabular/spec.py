"""Which networks for tables are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from meritnas.errors import UsageError
from meritnas.families.presets.tables import tables_preset
from meritnas.families.widths import PAPER_WIDTHS, WIDEST_LAYER, Widths, checked_widths
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec
from meritnas.wording import shortened

if TYPE_CHECKING:
    from meritnas.data.columns.inputs import TableInputs
    from meritnas.families.tabular.family import TabularSpace


class _NobodyGave(int):
    """A default that can be told from the same number given by a user."""


_LAYERS = _NobodyGave(3)
_MOST_LAYERS = 1000
_DIGITS = 6
"""Of a width in an architecture's text, at most."""


@dataclass(frozen=True)
class Tabular(SpaceSpec):
    """Feed-forward networks for tables: which width for each hidden layer.

    Attributes:
        layers: Hidden layers.
        widths: What layers choose from: "8,16,32", or for each layer "8,16;16,32,64".
        embedding: Width of every category's embedding.
        widest: Most that the rule for embeddings may give.
    """

    name: ClassVar[str] = "tabular"
    data: ClassVar[str] = "table"
    networks: ClassVar[str] = "networks for tables"

    layers: int = field(
        default=_LAYERS,
        metadata=shown(usual="3, or as many as there are lists of widths", most=_MOST_LAYERS),
    )
    widths: Widths = field(
        default=PAPER_WIDTHS, metadata=shown(metavar="LIST", usual="20 sizes from 8 to 512")
    )
    embedding: int | None = field(
        default=None,
        metadata=shown(usual="by number of categories", least=1, most=WIDEST_LAYER),
    )
    widest: int | None = field(
        default=None,
        metadata=shown(usual="what limits leave room for", hidden=True, least=1, most=WIDEST_LAYER),
    )

    def __post_init__(self) -> None:
        nobody_gave = self.layers is _LAYERS
        super().__post_init__()
        if nobody_gave and any(isinstance(each, Collection) for each in self.widths):
            object.__setattr__(self, "layers", len(self.widths))
        object.__setattr__(self, "widths", checked_widths(self.widths, self.layers))

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """By the table's size."""
        del partial_channels
        return tables_preset(self, name, facts)

    def build(self, inputs: TableInputs, outputs: int, limits: Mapping[str, int]) -> TabularSpace:
        """Networks for such columns; embeddings leave a limit on weights to the layers."""
        from meritnas.data.columns.inputs import WIDEST_EMBEDDING
        from meritnas.families.tabular.embedding_room import narrowed
        from meritnas.families.tabular.family import tabular_space

        widest = WIDEST_EMBEDDING if self.widest is None else self.widest
        # What columns are called and hold is nothing that these networks differ in.
        inputs = replace(inputs, names=(), thresholds=None)
        columns = replace(inputs, embedding=self.embedding, widest=widest)
        family = tabular_space(columns, outputs, self.layers, self.widths)
        return family if self.widest is not None else narrowed(family, limits)

    def most_codes(self, family: TabularSpace, limits: Mapping[str, int]) -> int | None:
        """Fewer categories where embeddings take too much of what the limits allow."""
        from meritnas.families.tabular.embedding_room import most_categories

        return most_categories(family, limits)

    def of_architecture(self, text: str) -> Self:
        """Layers and widths as the text has them, where both are at their defaults."""
        usual = Tabular()
        if (self.layers, self.widths) != (usual.layers, usual.widths):
            return self
        widths = tuple((_width(part.strip()),) for part in text.strip().split("-"))
        return replace(self, layers=len(widths), widths=widths)


def _width(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS:
        raise UsageError(
            f"an architecture for a table is written like 32-144-24, got '{shortened(text)}' in it"
        )
    return int(text)
