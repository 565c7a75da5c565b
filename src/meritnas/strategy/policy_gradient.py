from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.baseline import Baseline, MovingAverage
from meritnas.credit.reward import Reward
from meritnas.policy.laws import Conditional, Draw, Law
from meritnas.policy.policy import Policy, draw
from meritnas.space.architecture import Architecture
from meritnas.strategy.final_choice import FinalChoice
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe

# Weight steps draw their paths this many at a time: drawing one costs as much as drawing many.
_PATHS_AT_ONCE = 16


@dataclass
class PolicyGradient:
    """REINFORCE over a supernet (TabNAS, algorithms 1 and 2).

    The gradient of a draw y is (r - b) * (onehot(y) - center), with the law's center and a moving
    average b. One update every `samples` weight steps learns from `samples` draws on one
    validation batch: as many passes as TabNAS' one draw a step, but one table of the feasible
    set serves them all (TabNAS averages over eight cores likewise, appendix B.2.2).

    Deviation: weight steps draw their paths `_PATHS_AT_ONCE` at a time, so a path may come from a
    policy a few updates old.
    """

    policy: Policy
    feasible: FeasibleSet
    law: Law
    reward: Reward
    choose: FinalChoice
    rng: np.random.Generator
    samples: int = 8
    weight_draws: Literal["policy", "feasible"] = "policy"
    baseline: Baseline = field(default_factory=MovingAverage)
    learns: Literal["joint", "frozen"] = "joint"
    most_judgements: int | None = None
    _paths: list[list[int]] = field(default_factory=list)

    def sample(self, clock: Clock) -> Gates:
        """A path drawn from the policy, whatever it costs, or from its feasible part."""
        del clock
        if not self._paths:
            if self.weight_draws == "feasible":
                picks = Conditional(self.feasible).draw(self.policy, _PATHS_AT_ONCE, self.rng).picks
            else:
                picks = draw(self.policy.probabilities(), _PATHS_AT_ONCE, self.rng)
            self._paths = picks.tolist()
        return one_path(self._paths.pop())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One policy step from several draws judged on one validation batch."""
        if clock.phase_step % self.samples:
            return None
        drawn = self.law.draw(self.policy, self.samples, self.rng)
        values = {"used": float(len(drawn.picks))}
        if drawn.probability is not None:
            values["feasible_probability"] = drawn.probability
        if len(drawn.picks):
            losses = probe.losses(drawn.picks, probe.valid_batch())
            rewards = self.reward.of(losses, drawn.picks).tolist()
            self.policy.ascend(score_gradient(drawn, self.baseline.signals(rewards)))
            values["reward"] = float(np.mean(rewards))
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
        """Policy, average, generator and the paths drawn ahead."""
        return {
            "policy": self.policy.state_dict(),
            "baseline": self.baseline.state_dict(),
            "rng": rng_state(self.rng),
            "paths": [list(path) for path in self._paths],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])
        self.baseline.load_state_dict(state["baseline"])
        set_rng_state(self.rng, state["rng"])
        self._paths = [list(path) for path in state["paths"]]


def score_gradient(drawn: Draw, signals: list[float]) -> np.ndarray:
    """Mean over draws of signal * (onehot(y) - center), all rows in one array."""
    weights = np.array(signals) / len(signals)
    rows = []
    for i, center in enumerate(drawn.center):
        row = np.bincount(drawn.picks[:, i], weights=weights, minlength=len(center))
        rows.append(row - weights.sum() * center)
    return np.concatenate(rows)
