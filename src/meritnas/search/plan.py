from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from meritnas.clock import Clock, Phase

WARMUP_SHARE = 0.25
"""TabNAS section 3.1: the first quarter of the weight steps is warm-up."""


@dataclass(frozen=True)
class Plan:
    """How many steps a search takes in each phase; fixed before its first step."""

    warmup: int
    joint: int
    frozen: int

    @property
    def steps(self) -> int:
        """All steps."""
        return self.warmup + self.joint + self.frozen

    @property
    def weight_steps(self) -> int:
        """The steps that train weights."""
        return self.warmup + self.joint

    def clocks(self, start: int) -> Iterator[Clock]:
        """The clock of every step from `start` on."""
        begin = 0
        phases: tuple[tuple[Phase, int], ...] = (
            ("warmup", self.warmup),
            ("joint", self.joint),
            ("frozen", self.frozen),
        )
        for phase, length in phases:
            for step in range(max(start, begin), begin + length):
                yield Clock(step, self.steps, phase, step - begin, length)
            begin += length

    def to_json(self) -> dict[str, Any]:
        """Plain data for `Plan(**data)`."""
        return asdict(self)


def make_plan(
    weight_steps: int,
    learns: str,
    evaluation_passes: int,
    most_judgements: int | None = None,
    warmup_share: float = WARMUP_SHARE,
) -> Plan:
    """Warm-up, then the rest; strategies that learn from frozen weights get equal passes.

    Args:
        weight_steps: warm-up included.
        learns: the strategy's phase of learning.
        evaluation_passes: what judging one architecture on all validation data costs in passes.
            The policy gradient uses one pass a joint step, so this many joint steps pay for one
            judgement (TabNAS, appendix D).
        most_judgements: an upper bound on them, or None.
        warmup_share: the part of the weight steps that is warm-up.
    """
    warmup = round(weight_steps * warmup_share)
    joint = weight_steps - warmup
    frozen = max(30, joint // max(1, evaluation_passes)) if learns == "frozen" else 0
    if most_judgements is not None:
        frozen = min(frozen, most_judgements)
    return Plan(warmup, joint, frozen)
