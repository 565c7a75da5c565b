"""Where a running search stands: its step and its phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["warmup", "joint", "frozen"]


@dataclass(frozen=True)
class Clock:
    """Where a search stands.

    Attributes:
        step: counted from 0 over the whole search.
        steps: how many there will be.
        phase: `warmup` trains weights only, `joint` weights and beliefs, `frozen` beliefs only.
        phase_step: counted from 0 within the phase.
        phase_steps: how many steps the phase has.
    """

    step: int
    steps: int
    phase: Phase
    phase_step: int
    phase_steps: int
