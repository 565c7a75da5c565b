"""NASP: gradients at a discrete architecture, applied to continuous weights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from meritnas.clock import Clock
from meritnas.policy.tags import mixable
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.black_box import uniform_draw
from meritnas.strategy.algorithms.dense import without_absent
from meritnas.strategy.algorithms.policy_strategy import PolicyStrategy
from meritnas.strategy.strategy import Learnt
from meritnas.supernet.gates import Gates, one_hot, one_path, tracked_all
from meritnas.supernet.probe import Probe


@dataclass
class Proximal(PolicyStrategy):
    """Proximal iterations: gradients at the discrete architecture, applied to a continuous copy.

    NASP (algorithm 2; Yao et al., 2020): the continuous weights lie in [0, 1]; the nearest
    discrete point, here the best feasible architecture by the sum of its weights, so that rules
    and limits hold, is what the weights of the supernet are trained on, one path. For the step of
    the continuous weights all options run at that point (those not chosen with weight 0), and the
    gradient moves the continuous copy, which is then clipped to [0, 1].

    Deviations: weights begin at .5 plus normal noise of 1e-3, since equal ones would make the
    first option the first choice everywhere; warm-up trains random feasible paths; no weight
    decay.

    Its policy holds the continuous weights, not logits; its generator is for the paths of the
    warm-up.
    """

    _mixed: list[np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self._mixed = mixable(self.feasible.space)

    def point(self) -> tuple[int, ...]:
        """The discrete point: the picks of the best feasible architecture."""
        return self.feasible.diagram.best(without_absent(self.feasible, self.policy.rows()))

    def sample(self, clock: Clock) -> Gates:
        """The discrete point's path; a random feasible one in warm-up."""
        if clock.phase == "warmup":
            return one_path(uniform_draw(self.feasible, 1, self.rng)[0].tolist())
        return one_path(self.point())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One step of the continuous weights against the gradient at the discrete point."""
        del clock
        rows = [one_hot(pick, n) for pick, n in zip(self.point(), self.policy.sizes, strict=True)]
        gates, leaves = tracked_all(rows, self._mixed)
        loss, gradients = probe.gradients(gates, probe.valid_batch(), leaves)
        self.policy.ascend(-torch.cat(gradients).double().numpy())
        self.policy.logits.clamp_(0.0, 1.0)
        return Learnt({"reward": 1.0 - loss, "used": 1.0})

    def beliefs(self) -> list[np.ndarray]:
        """The continuous weights, scaled to sum to one."""
        found = []
        for row, part in zip(self.policy.rows(), self._mixed, strict=True):
            kept = np.where(part, row, 0.0)
            total = kept.sum()
            found.append(kept / total if total > 0 else part / part.sum())
        return found

    def leader(self) -> Architecture:
        """The discrete point."""
        return self.feasible.space.architecture(self.point())
