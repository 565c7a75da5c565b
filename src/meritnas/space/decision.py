from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One possible answer to a decision; tags say what kind it is (`zero`, `normal`, `sparse`)."""

    name: str
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Decision:
    """A named question with a finite list of options: layer 3 -> which width."""

    name: str
    options: tuple[Option, ...]

    def __len__(self) -> int:
        return len(self.options)
