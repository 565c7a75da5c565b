"""The base of the settings that say how data is read, one class for each kind of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from meritnas.settings.checks import check_fields
from meritnas.settings.fields import shown
from meritnas.settings.recipe import TrainRecipe

MAX_UNPACKED_MB = 4_000
"""More than the usual sets of images come to, and less than the memory of most machines.

A share of the memory would be another number on every machine, and so would be what is refused.
"""


@dataclass(frozen=True)
class Reading:
    """What a user decides about data.

    Attributes:
        max_unpacked_mb: Most megabytes that a packed file may unpack to.
        examples: Keep the test rows, pictures or words that the network gets most wrong in the run.
    """

    max_unpacked_mb: int = field(
        default=MAX_UNPACKED_MB, kw_only=True, metadata=shown(least=1, most=10**9)
    )
    examples: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Complain about what is not of its type, or beyond its bounds."""
        check_fields(self)

    def changed(self, recipe: TrainRecipe) -> TrainRecipe:
        """A recipe with what is decided here about training; most kinds of data say nothing."""
        return recipe

    @property
    def own_names(self) -> frozenset[str]:
        """What it has imported of a user's own, as `module:name`; most kinds of data nothing."""
        return frozenset()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**found)
