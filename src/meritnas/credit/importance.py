"""PARSEC's credit: draws pull with their share of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from meritnas.credit.credit import Assigned, score_gradient
from meritnas.data.stream import Batch
from meritnas.policy.laws import Draw
from meritnas.policy.policy import Policy
from meritnas.supernet.probe import Probe


@dataclass(frozen=True)
class Importance:
    """Draws pull with their share of the likelihood (PARSEC; Casale, Gordon, Fusi, 2019).

    K draws are judged on one batch; draw k has the weight w_k = softmax(-loss)_k and the gradient
    is the sum of w_k * (onehot(y_k) - center).

    Deviations: the likelihood of a draw is exp(-mean loss of the batch), as AdvantageNAS'
    comparison has it, where that of a whole batch would let one draw take all the weight; the
    weights of the supernet are trained on one path a step, without importance weights.

    Attributes:
        form: `paper`, or `code` for what the released code of AdvantageNAS does instead: weights
            softmax(+loss), and away from the draws.
    """

    form: Literal["paper", "code"] = "paper"

    def assign(self, probe: Probe, batch: Batch, drawn: Draw, policy: Policy) -> Assigned:
        """One pass without gradients for each draw."""
        del policy
        losses = probe.losses(drawn.picks, batch)
        sign = 1.0 if self.form == "paper" else -1.0
        gradient = sign * score_gradient(drawn, shares(-sign * losses))
        return Assigned(gradient, losses, {"reward": float(np.mean(1.0 - losses))})

    def state_dict(self) -> dict[str, Any]:
        """Nothing is remembered."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""
        del state


def shares(scores: np.ndarray) -> np.ndarray:
    """The softmax of scores [n]."""
    weights = np.exp(scores - scores.max())
    found: np.ndarray = weights / weights.sum()
    return found
