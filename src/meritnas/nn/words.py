"""What a language model of a user's own reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """What comes into a language model: words by number.

    Attributes:
        count: how many different ones there are.
    """

    count: int
