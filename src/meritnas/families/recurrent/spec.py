"""Which language models are searched, written down without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from meritnas.errors import UsageError
from meritnas.families.presets.texts import texts_recipe
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import Learnt, SpaceSpec

if TYPE_CHECKING:
    from meritnas.families.recurrent.family import RecurrentSpace


@dataclass(frozen=True)
class Recurrent(SpaceSpec):
    """Language models: a GRU, an LSTM, or which activation on each edge of a recurrent cell.

    Attributes:
        width: Of embeddings, state and nodes.
        nodes: Of the recurrent cell.
        predecessors: 1 for one edge into each node.
        known_cells: Whether GRU and LSTM are members, too.
        search_dropout: Share of embeddings and outputs left out while searching.
        learn_on: Of the text, the part that beliefs learn on: valid or train.
    """

    name: ClassVar[str] = "recurrent"
    data: ClassVar[str] = "text"
    networks: ClassVar[str] = "language models"

    width: int | None = field(
        default=None, metadata=shown(usual="by preset", least=1, most=100_000)
    )
    nodes: int = field(default=3, metadata=shown(least=1, most=8))
    predecessors: int | None = field(
        default=None, metadata=shown(usual="all edges", least=1, most=1)
    )
    known_cells: bool = True
    search_dropout: float | None = field(default=None, metadata=shown(usual="by preset"))
    learn_on: Learnt | None = field(default=None, metadata=shown(usual="by preset", metavar="PART"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.search_dropout is not None and not 0 <= self.search_dropout < 1:
            raise UsageError(f"search_dropout must be from 0 to below 1, got {self.search_dropout}")

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """As AdvantageNAS has it on Penn Treebank, or quickly."""
        del partial_channels
        recipe = texts_recipe(name, facts)
        named = ("width", "search_dropout", "learn_on")
        left: dict[str, Any] = {
            each: getattr(recipe, each) for each in named if getattr(self, each) is None
        }
        return recipe.preset(replace(self, **left), finalists=2, threads=None)

    def build(self, inputs: Any, outputs: int, limits: Mapping[str, int]) -> RecurrentSpace:
        """Models of so many words; what comes in are words, too."""
        from meritnas.families.recurrent.family import recurrent_space

        del inputs, limits
        sizes = {} if self.width is None else {"width": self.width}
        return recurrent_space(
            outputs,
            nodes=self.nodes,
            predecessors=self.predecessors,
            known_cells=self.known_cells,
            **sizes,
        )

    def supernet(self, family: RecurrentSpace, seed: int) -> Any:
        """Fresh shared weights; some of what enters and leaves the cell may be left out."""
        return family.supernet(seed, self.search_dropout or 0.0)

    def learnt_on(self) -> Learnt:
        """Validation text, or training text as AdvantageNAS has it."""
        return self.learn_on or "valid"
