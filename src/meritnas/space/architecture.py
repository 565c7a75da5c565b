"""An architecture: one option for every decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """One option for every decision of a space.

    Attributes:
        options: the chosen option's name for each decision, in the space's order.
        text: the short form people write, `32-144-24`.
        picture: HTML that a notebook shows of it; empty where only its text is known.
    """

    options: tuple[str, ...]
    text: str
    picture: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<code>{escape(self.text)}</code>{self.picture}"

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back into an equal architecture."""
        return {"options": list(self.options), "text": self.text}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Architecture:
        """The inverse of `to_json`."""
        return Architecture(tuple(data["options"]), data["text"])
