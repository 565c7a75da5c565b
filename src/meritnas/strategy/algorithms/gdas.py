"""GDAS: one option runs, and its gradient goes through a soft draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.clock import Clock
from meritnas.credit.edge_advantage import picked
from meritnas.strategy.algorithms.black_box import uniform_draw
from meritnas.strategy.algorithms.policy_strategy import JudgingStrategy
from meritnas.strategy.algorithms.temperature import Temperature, gdas_temperature
from meritnas.strategy.strategy import Learnt
from meritnas.supernet.gates import Gates, one_path, tracked
from meritnas.supernet.probe import Probe


@dataclass
class GumbelPath(JudgingStrategy):
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
        temperature: by the clock.
    """

    temperature: Temperature = gdas_temperature

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
