from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.credit import Credit
from meritnas.policy.laws import Law, Unrestricted
from meritnas.policy.policy import Policy
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.algorithms.final_choice import FinalChoice
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import WITH_WEIGHTS, Turns
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe


@dataclass
class PolicyGradient:
    """A policy that moves by the credit of what it draws.

    REINFORCE (TabNAS, algorithms 1 and 2), PARSEC and AdvantageNAS (algorithm 1) are this
    strategy with their own `credit`. One update every `samples` weight steps learns from
    `samples` draws on one validation batch: as many passes as one draw a step, but one table of
    the feasible set serves them all (TabNAS averages over eight cores likewise, appendix B.2.2).

    Deviation: weight steps draw their paths `paths_at_once` at a time, because drawing one costs
    as much as drawing many, so a path may come from a policy a few updates old.

    Attributes:
        policy: the belief.
        feasible: the architectures that may be chosen.
        law: what is learnt from.
        credit: how much each option gets of a draw's loss.
        choose: the final choice.
        rng: where all draws come from.
        samples: draws for each update.
        weight_law: what the weights are trained on.
        seen: the best of what was judged.
        paths_at_once: see above.
    """

    policy: Policy
    feasible: FeasibleSet
    law: Law
    credit: Credit
    choose: FinalChoice
    rng: np.random.Generator
    samples: int = 8
    weight_law: Law = field(default_factory=Unrestricted)
    seen: BestSeen = field(default_factory=BestSeen)
    paths_at_once: int = 16
    turns: Turns = WITH_WEIGHTS
    _paths: list[list[int]] = field(default_factory=list)

    def sample(self, clock: Clock) -> Gates:
        """A path drawn by the weight steps' law."""
        del clock
        if not self._paths:
            picks = self.weight_law.draw(self.policy, self.paths_at_once, self.rng).picks
            self._paths = picks.tolist()
        return one_path(self._paths.pop())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One policy step from several draws judged on one validation batch."""
        if clock.phase_step % self.samples:
            return None
        drawn = self.law.draw(self.policy, self.samples, self.rng)
        values = {"used": float(len(drawn.picks))}
        if len(drawn.picks):
            found = self.credit.assign(probe, probe.valid_batch(), drawn, self.policy)
            self.policy.ascend(found.gradient)
            self.seen.notice(drawn.picks, found.losses, self.feasible)
            values |= found.values
        return Learnt(values)

    def beliefs(self) -> list[np.ndarray]:
        """The policy's probabilities."""
        return self.policy.probabilities()

    def leader(self) -> Architecture:
        """The most probable feasible architecture."""
        return self.feasible.mode(self.policy.rows())

    def derive(self, probe: Probe) -> list[Architecture]:
        """What the final choice makes of the policy."""
        return self.choose.ranked(self.policy, self.feasible, probe, self.rng)

    def state_dict(self) -> dict[str, Any]:
        """Policy, credit, the best seen, generator and the paths drawn ahead."""
        return {
            "policy": self.policy.state_dict(),
            "credit": self.credit.state_dict(),
            "seen": self.seen.state_dict(),
            "rng": rng_state(self.rng),
            "paths": [list(path) for path in self._paths],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])
        self.credit.load_state_dict(state["credit"])
        self.seen.load_state_dict(state["seen"])
        set_rng_state(self.rng, state["rng"])
        self._paths = [list(path) for path in state["paths"]]
