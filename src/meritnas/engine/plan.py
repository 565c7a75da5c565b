"""How many steps a search takes in each phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from meritnas.clock import Clock, Phase
from meritnas.settings.settings import WARMUP_SHARE
from meritnas.settings.training import CANDIDATES
from meritnas.strategy.turns import Turns


@dataclass(frozen=True)
class Plan:
    """How many steps a search takes in each phase; fixed before its first step.

    Attributes:
        warmup: steps that train weights alone.
        joint: steps that train weights and, for most strategies, beliefs.
        frozen: steps that train beliefs alone.
        rounds: into how many rounds joint and frozen steps are dealt out, as evenly as whole
            numbers allow; in each, the joint ones come first.
        candidates: how many networks are judged after the last step, for each limit.
    """

    warmup: int
    joint: int
    frozen: int
    rounds: int = 1
    candidates: int = CANDIDATES

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
        lengths = {"warmup": self.warmup, "joint": self.joint, "frozen": self.frozen}
        begin = 0
        for phase, first, last in self._stretches():
            for step in range(max(start, begin), begin + last - first):
                yield Clock(step, self.steps, phase, first + step - begin, lengths[phase])
            begin += last - first

    def _stretches(self) -> Iterator[tuple[Phase, int, int]]:
        """(phase, its first step, the one after its last) of what follows each other."""
        yield "warmup", 0, self.warmup
        for number in range(self.rounds):
            for phase, length in (("joint", self.joint), ("frozen", self.frozen)):
                first = number * length // self.rounds
                yield phase, first, (number + 1) * length // self.rounds  # type: ignore[misc]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `Plan(**data)`."""
        return asdict(self)


def make_plan(
    weight_steps: int,
    turns: Turns,
    evaluation_passes: int,
    epoch_steps: int = 1,
    warmup_share: float = WARMUP_SHARE,
    candidates: int = CANDIDATES,
    workers: int = 1,
) -> Plan:
    """Warm-up, then the rest; strategies that learn from frozen weights get equal passes.

    Args:
        weight_steps: warm-up included.
        turns: when the strategy learns.
        evaluation_passes: what judging one architecture on all validation data costs in passes.
            The policy gradient uses one pass a joint step, so this many joint steps pay for one
            judgement (TabNAS, appendix D).
        epoch_steps: how many weight steps make an epoch.
        warmup_share: the part of the weight steps that is warm-up.
        candidates: how many networks are judged after the last step.
        workers: how many batches a weight step sees.
    """
    warmup = round(weight_steps * warmup_share)
    joint = weight_steps - warmup
    if turns.phase != "frozen":
        return Plan(warmup, joint, 0, candidates=candidates)
    if turns.each_epoch is not None:
        rounds = round(joint / epoch_steps)
        if turns.most is not None and turns.each_epoch:
            rounds = min(rounds, turns.most // turns.each_epoch)
        rounds = max(1, rounds)
        return Plan(warmup, joint, rounds * turns.each_epoch, rounds, candidates)
    due = max(30, joint * workers // max(1, evaluation_passes))
    frozen = due if turns.most is None else min(due, turns.most)
    return Plan(warmup, joint, frozen, candidates=candidates)
