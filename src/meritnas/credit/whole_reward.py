"""REINFORCE's credit: all options of a draw get its whole reward."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.credit.baseline import Baseline, MovingAverage
from meritnas.credit.credit import Assigned, score_gradient
from meritnas.credit.reward import Quality, Reward
from meritnas.data.stream import Batch
from meritnas.policy.laws import Draw
from meritnas.policy.policy import Policy
from meritnas.supernet.probe import Probe


@dataclass
class WholeReward:
    """All options of a draw get its whole reward minus a baseline (REINFORCE).

    The gradient of a draw y is (r - b) * (onehot(y) - center), with the law's center.
    """

    reward: Reward = field(default_factory=Quality)
    baseline: Baseline = field(default_factory=MovingAverage)

    def assign(self, probe: Probe, batch: Batch, drawn: Draw, policy: Policy) -> Assigned:
        """One pass without gradients for each draw."""
        del policy
        losses = probe.losses(drawn.picks, batch)
        rewards = self.reward.of(losses, drawn.picks).tolist()
        signals = np.array(self.baseline.signals(rewards))
        gradient = score_gradient(drawn, signals / len(signals))
        return Assigned(gradient, losses, {"reward": float(np.mean(rewards))})

    def state_dict(self) -> dict[str, Any]:
        """The baseline's."""
        return {"baseline": self.baseline.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.baseline.load_state_dict(state["baseline"])
