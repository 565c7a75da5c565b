"""An architecture: one option for every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """One option for every decision of a space.

    Attributes:
        options: the chosen option's name for each decision, in the space's order.
        text: the short form people write, `32-144-24`.
    """

    options: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back into an equal architecture."""
        return {"options": list(self.options), "text": self.text}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Architecture:
        """The inverse of `to_json`."""
        return Architecture(tuple(data["options"]), data["text"])
