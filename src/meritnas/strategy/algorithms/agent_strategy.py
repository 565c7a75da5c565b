"""What strategies with an agent for each decision (MANAS) have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meritnas.policy.agents import Agents, Softmax, exp3_exploration, exp3_rate
from meritnas.space.architecture import Architecture
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import rng_state, set_rng_state
from meritnas.supernet.probe import Probe

Recommendation = Callable[[Agents, np.random.Generator], Architecture]

DRAWN_AT_ONCE = 16
"""Networks that agents propose together where a draw is costly."""


@dataclass
class AgentStrategy:
    """Agents that are blamed for losses and recommend a network at the end.

    Attributes:
        agents: who choose.
        rng: where all draws come from.
        final: the choice at the end.
    """

    saved: ClassVar[tuple[str, ...]] = ("blame", "draws")
    """What of the agents a state holds."""

    agents: Agents
    rng: np.random.Generator
    final: Recommendation

    def beliefs(self) -> list[np.ndarray]:
        """The agents' probabilities."""
        return self.agents.probabilities()

    def leader(self) -> Architecture:
        """The feasible architecture with the least blame."""
        return self.agents.favourite()

    def derive(self, probe: Probe) -> list[Architecture]:
        """The agents' recommendation."""
        del probe
        return [self.final(self.agents, self.rng)]

    def state_dict(self) -> dict[str, Any]:
        """What agents know, and the generator."""
        known = {key: [row.tolist() for row in getattr(self.agents, key)] for key in self.saved}
        return {**known, "rng": rng_state(self.rng)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.agents.learn(*([np.array(row) for row in state[key]] for key in self.saved))
        set_rng_state(self.rng, state["rng"])


def recommendation(name: str) -> Recommendation:
    """The choice at the end: `mode`, the least blamed network, or `draw`, as algorithm 1 ends."""
    return {"mode": least_blamed, "draw": _drawn}[name]


def least_blamed(agents: Agents, rng: np.random.Generator) -> Architecture:
    """The network whose options lost least."""
    del rng
    return agents.favourite()


def _drawn(agents: Agents, rng: np.random.Generator) -> Architecture:
    return agents.one_draw(rng)


def exp3(problem: Problem, rounds: int, rate: float | None, exploration: float | None) -> Softmax:
    """EXP3's choice for so many rounds, unless step or exploration are given."""
    options = max(problem.feasible.space.sizes)
    return Softmax(
        exp3_rate(options, rounds) if rate is None else rate,
        exp3_exploration(options, rounds) if exploration is None else exploration,
    )
