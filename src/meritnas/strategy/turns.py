"""When a strategy learns."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.clock import Phase


@dataclass(frozen=True)
class Turns:
    """When a strategy learns: in which phase, and how often while the weights rest.

    Attributes:
        phase: `joint`, at every weight step after the warm-up, or `frozen`, while they rest.
        most: the most turns while they rest, or None for as many as are due.
        each_epoch: so many turns after every epoch of weight steps that follows the warm-up, or
            less often, as evenly, where `most` allows no more; None for all after the last one.
    """

    phase: Phase
    most: int | None = None
    each_epoch: int | None = None


WITH_WEIGHTS = Turns("joint")
AFTER_WEIGHTS = Turns("frozen")
