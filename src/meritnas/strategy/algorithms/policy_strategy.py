"""What strategies that believe in a policy have in common: beliefs, final choice, state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.policy.policy import Policy
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.algorithms.final_choice import FinalChoice
from meritnas.strategy.strategy import rng_state, set_rng_state
from meritnas.strategy.turns import WITH_WEIGHTS, Turns
from meritnas.supernet.probe import Probe


@dataclass
class PolicyStrategy:
    """A policy that learns beside the weights and stands for its most probable architecture.

    Attributes:
        policy: the belief.
        feasible: the architectures that may be drawn and chosen.
        rng: where all draws come from.
    """

    turns: ClassVar[Turns] = WITH_WEIGHTS

    policy: Policy
    feasible: FeasibleSet
    rng: np.random.Generator

    def beliefs(self) -> list[np.ndarray]:
        """The policy's probabilities."""
        return self.policy.probabilities()

    def leader(self) -> Architecture:
        """The most probable feasible architecture."""
        return self.feasible.mode(self.policy.rows())

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leader."""
        del probe
        return [self.leader()]

    def state_dict(self) -> dict[str, Any]:
        """Policy and generator."""
        return {"policy": self.policy.state_dict(), "rng": rng_state(self.rng)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])
        set_rng_state(self.rng, state["rng"])


@dataclass
class JudgingStrategy(PolicyStrategy):
    """A policy whose updates judge whole architectures, the best of which is remembered.

    Attributes:
        choose: the final choice.
        seen: the best of what was judged.
    """

    choose: FinalChoice
    seen: BestSeen = field(default_factory=BestSeen, kw_only=True)

    def derive(self, probe: Probe) -> list[Architecture]:
        """What the final choice makes of the policy."""
        return self.choose.ranked(self.policy, self.feasible, probe, self.rng)

    def state_dict(self) -> dict[str, Any]:
        """Policy, generator and the best seen."""
        return {**super().state_dict(), "seen": self.seen.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().load_state_dict(state)
        self.seen.load_state_dict(state["seen"])
