"""How soft draws are, by the clock."""

from __future__ import annotations

import math
from collections.abc import Callable

from meritnas.clock import Clock

Temperature = Callable[[Clock], float]
"""How soft draws are at a moment of the search."""

_COOLEST_SNAS = 0.03


def snas_temperature(clock: Clock) -> float:
    """From 1 to 0 along a cosine over the joint phase (AdvantageNAS, appendix C).

    Deviation: it stops at .03, since 0 has no gradient.
    """
    return max(_COOLEST_SNAS, 0.5 * (1.0 + math.cos(math.pi * share_done(clock))))


def gdas_temperature(clock: Clock) -> float:
    """From 10 to .1 in equal steps over the joint phase (GDAS; AdvantageNAS, appendix C)."""
    return 10.0 + (0.1 - 10.0) * share_done(clock)


def share_done(clock: Clock) -> float:
    """How much of the joint phase is over: 0 at its first step and before, 1 at its last."""
    if clock.phase != "joint":
        return 0.0
    return min(1.0, clock.phase_step / max(1, clock.phase_steps - 1))
