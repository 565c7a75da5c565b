"""How a text is read: settings that need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from meritnas.errors import UsageError, whole_number
from meritnas.settings.fields import shown


@dataclass(frozen=True)
class TextReading:
    """What a user decides about a text.

    Attributes:
        level: What a text is made of: word or character.
        vocabulary: The most words that are told apart.
        window: Words as far as gradients go back.
    """

    level: Literal["word", "character"] = field(default="word", metadata=shown(metavar="NAME"))
    vocabulary: int = 10_000
    window: int = 35

    def __post_init__(self) -> None:
        for name, least in (("vocabulary", 2), ("window", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.level not in ("word", "character"):
            raise UsageError(f"the level must be word or character, got '{self.level}'")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**found)
