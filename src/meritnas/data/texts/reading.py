"""How a text is read: settings that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from meritnas.errors import UsageError, whole_number
from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading


@dataclass(frozen=True)
class TextReading(Reading):
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
        super().__post_init__()
        for name, least in (("vocabulary", 2), ("window", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.level not in ("word", "character"):
            raise UsageError(f"the level must be word or character, got '{self.level}'")
