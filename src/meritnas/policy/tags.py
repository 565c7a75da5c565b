"""What the tags of options mean to strategies."""

from __future__ import annotations

import numpy as np

from meritnas.space.decision import ZERO
from meritnas.space.rule import ABSENT
from meritnas.space.space import Space


def tagged(space: Space, tag: str) -> list[np.ndarray]:
    """For each decision booleans [options]: which options carry the tag."""
    return [
        np.array([tag in option.tags for option in decision.options])
        for decision in space.decisions
    ]


def silent(space: Space) -> list[np.ndarray]:
    """For each decision booleans [options]: which options give nothing but zeros."""
    zero, absent = tagged(space, ZERO), tagged(space, ABSENT)
    return [z | a for z, a in zip(zero, absent, strict=True)]


def mixable(space: Space) -> list[np.ndarray]:
    """For each decision booleans [options]: which options take part in mixtures.

    Those that are tagged `absent` but not `zero` do not: they exist so that an edge can be left
    out of an architecture, and are no operation. A decision that has nothing else keeps them.
    """
    zero, absent = tagged(space, ZERO), tagged(space, ABSENT)
    found = [z | ~a for z, a in zip(zero, absent, strict=True)]
    return [row if row.any() else np.ones_like(row) for row in found]
