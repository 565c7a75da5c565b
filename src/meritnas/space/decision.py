"""A decision of a search space and its options."""

from __future__ import annotations

from dataclasses import dataclass

ZERO = "zero"
"""The tag of an option that outputs zeros and takes part in mixtures."""

TOGETHER = "together"
"""The tag of options of a decision that are worth something together: one player of a game."""

SPARSE = "sparse"
"""The tag of an operation whose maps are sparse-coding layers."""


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
