"""How a text is read: settings that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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
    vocabulary: int = field(default=10_000, metadata=shown(least=2, most=10_000_000))
    window: int = field(default=35, metadata=shown(least=1, most=10_000))
