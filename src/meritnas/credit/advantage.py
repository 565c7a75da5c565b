"""AdvantageNAS' credit: what each option's own output did for the loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.baseline import MovingAverage
from meritnas.credit.credit import Assigned
from meritnas.credit.edge_advantage import ByGradient, EdgeAdvantage, judged_together
from meritnas.data.stream import Batch
from meritnas.policy.laws import Draw
from meritnas.policy.neighbours import fitting_options, restricted
from meritnas.policy.policy import Policy
from meritnas.policy.tags import silent
from meritnas.supernet.probe import Probe

DECAY = 0.05
"""gamma of eq. 9, and of REINFORCE's baseline beside it (AdvantageNAS, appendix C)."""


class Advantage:
    """Each option of a draw gets what its own output did for the reward (AdvantageNAS).

    A_i is the reward minus the reward with decision i's output at zero (eq. 6), or the first-order
    value of that (eq. 7), as `edge` says. Without a limit or a rule the gradient of decision i is
    A_i * (onehot_i - mu_i) (algorithm 1, line 9).

    With one, draws come from p(. | V), and other picks say what decision i may be. With c_i, row i
    of the policy restricted to the options that are feasible given the other picks, and m_i, the
    marginals given feasibility, the gradient is

        A_i * (onehot_i - c_i) + (r - b) * (c_i - m_i),   r = -loss.

    Given the other picks the first term is AdvantageNAS on what is left to choose, the second the
    reward's usual gradient for what they leave; the mean is that of E[r | V] for any b. (Without a
    limit c = m = mu. A_i * (onehot_i - m_i) would be biased.)

    An option that gives nothing but zeros has no output for eq. 7 to judge; it gets the worst of
    the moving averages of the other options' advantages (appendix B): EMA(i, j), 0 at first, moves
    by `decay` towards A_i for the drawn option j only, after it was used.

    Deviations: b is a debiased moving average of r, used before it is updated, with the same
    decay (the paper needs none); options tagged `absent` count as zeros too. As the paper prints
    it, and unlike its code, the zero option's own average takes no part in the minimum, and
    averages begin at 0 and not at their first value.

    Args:
        feasible: the set that draws come from.
        decay: gamma of eq. 9.
        edge: where A comes from; eq. 7 if None.
    """

    def __init__(
        self, feasible: FeasibleSet, decay: float = DECAY, edge: EdgeAdvantage | None = None
    ) -> None:
        self._feasible = feasible
        self._edge = edge or ByGradient(feasible.space)
        self._decay = decay
        self._silent = silent(feasible.space)
        self._baseline = MovingAverage(1.0 - decay)
        self._averages = [np.zeros(size) for size in feasible.space.sizes]

    def assign(self, probe: Probe, batch: Batch, drawn: Draw, policy: Policy) -> Assigned:
        """Each draw is judged on its own."""
        losses, judged = judged_together(self._edge, probe, batch, drawn.picks)
        used = [
            self._credited(picks, advantages)
            for picks, advantages in zip(drawn.picks, judged, strict=True)
        ]
        signals = self._baseline.signals((-losses).tolist())
        mu = policy.probabilities()
        gradients = []
        for picks, advantages, signal in zip(drawn.picks, used, signals, strict=True):
            fits = fitting_options(picks, self._feasible)
            gradients.append(
                advantage_gradient(picks, advantages, restricted(mu, fits), drawn.center, signal)
            )
        for picks, advantages in zip(drawn.picks, judged, strict=True):
            self._remember(picks, advantages)
        size = float(np.mean([np.abs(advantages).mean() for advantages in used]))
        values = {"reward": float(np.mean(1.0 - losses)), "advantage": size}
        return Assigned(np.mean(gradients, axis=0), losses, values)

    def _credited(self, picks: np.ndarray, judged: np.ndarray) -> np.ndarray:
        """The advantages [decisions], with the substitute where an option has no output."""
        advantages = judged.copy()
        if self._edge.judges_zeros:
            return advantages
        for i, pick in enumerate(picks):
            if self._silent[i][pick]:
                heard = self._averages[i][~self._silent[i]]
                advantages[i] = heard.min() if len(heard) else 0.0
        return advantages

    def _remember(self, picks: np.ndarray, advantages: np.ndarray) -> None:
        for i, pick in enumerate(picks):
            if not self._silent[i][pick]:
                average = self._averages[i]
                average[pick] += self._decay * (advantages[i] - average[pick])

    def state_dict(self) -> dict[str, Any]:
        """Both kinds of averages."""
        return {
            "baseline": self._baseline.state_dict(),
            "averages": [row.tolist() for row in self._averages],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._baseline.load_state_dict(state["baseline"])
        self._averages = [np.array(row) for row in state["averages"]]


def advantage_gradient(
    picks: np.ndarray,
    advantages: np.ndarray,
    own: list[np.ndarray],
    center: list[np.ndarray],
    signal: float,
) -> np.ndarray:
    """A_i * (onehot_i - c_i) + signal * (c_i - m_i), all rows in one array.

    Args:
        picks: [decisions], the draw.
        advantages: [decisions], A.
        own: c, a row for each decision: the policy given the other picks.
        center: m, a row for each decision: the law's marginals.
        signal: r - b.
    """
    rows = []
    for pick, advantage, c, m in zip(picks, advantages, own, center, strict=True):
        row = signal * (c - m) - advantage * c
        row[pick] += advantage
        rows.append(row)
    return np.concatenate(rows)
