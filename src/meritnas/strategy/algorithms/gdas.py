from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.advantage import picked
from meritnas.policy.policy import Policy
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.algorithms.black_box import uniform_draw
from meritnas.strategy.algorithms.final_choice import FinalChoice
from meritnas.strategy.algorithms.temperature import Temperature, gdas_temperature
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import WITH_WEIGHTS, Turns
from meritnas.supernet.gates import Gates, one_path, tracked
from meritnas.supernet.probe import Probe


@dataclass
class Gdas:
    """One option runs, its gradient goes through a soft draw (GDAS, eq. 4-6; Dong and Yang, 2019).

    Gumbel noise is added to log softmax(logits). The option with the largest value runs with
    weight one; the gradient is that of its value in softmax(perturbed / temperature)
    (straight-through).

    With limits or a rule the path is the feasible one with the largest *sum* of perturbed values
    (perturb and maximise, over the whole feasible set at once); without them that is the largest
    of each decision.

    Deviations: as the equations say, and unlike the released code, options that do not run get no
    gate of value zero that is added to the output, so that the loss' gradient by them is zero;
    warm-up draws feasible paths uniformly.

    Attributes:
        policy: the belief.
        feasible: the architectures that may be drawn and chosen.
        choose: the final choice.
        rng: where all draws come from.
        seen: the best of what was judged.
        temperature: by the clock.
    """

    policy: Policy
    feasible: FeasibleSet
    choose: FinalChoice
    rng: np.random.Generator
    seen: BestSeen = field(default_factory=BestSeen)
    temperature: Temperature = gdas_temperature
    turns: Turns = WITH_WEIGHTS

    def perturbed(self) -> list[np.ndarray]:
        """Log-probabilities plus fresh Gumbel noise, a row for each decision."""
        return [
            np.log(np.maximum(row, 1e-300)) + self.rng.gumbel(size=len(row))
            for row in self.policy.probabilities()
        ]

    def sample(self, clock: Clock) -> Gates:
        """The best path under fresh noise; a uniform one in warm-up."""
        if clock.phase == "warmup":
            return one_path(uniform_draw(self.feasible, 1, self.rng)[0].tolist())
        return one_path(self.feasible.diagram.best(self.perturbed()))

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One policy step from one drawn path."""
        values = self.perturbed()
        picks = np.array(self.feasible.diagram.best(values))
        gates, rows = tracked(picks.tolist(), self.policy.sizes)
        loss, gradients = probe.gradients(gates, probe.valid_batch(), rows)
        slopes = picked(gradients, picks)
        self.policy.ascend(-straight_through(values, picks, slopes, self.temperature(clock)))
        self.seen.notice(picks[None, :], np.array([loss]), self.feasible)
        return Learnt({"reward": 1.0 - loss, "used": 1.0})

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
        """Policy, the best seen and generator."""
        return {
            "policy": self.policy.state_dict(),
            "seen": self.seen.state_dict(),
            "rng": rng_state(self.rng),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])
        self.seen.load_state_dict(state["seen"])
        set_rng_state(self.rng, state["rng"])


def straight_through(
    perturbed: list[np.ndarray], picks: np.ndarray, slopes: np.ndarray, temperature: float
) -> np.ndarray:
    """The gradient of the loss by the logits, all rows in one array.

    With s = softmax(perturbed / temperature), k the pick and g the loss' derivative by its gate,
    the entry of option j is g * s_k * (1[j = k] - s_j) / temperature.
    """
    rows = []
    for values, pick, slope in zip(perturbed, picks, slopes, strict=True):
        soft = np.exp((values - values.max()) / temperature)
        soft /= soft.sum()
        row = -soft
        row[pick] += 1.0
        rows.append(row * (slope * soft[pick] / temperature))
    return np.concatenate(rows)
