"""MANAS' coordinated descent: blame for the options of what was proposed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def coordinated_descent(
    blame: Sequence[np.ndarray],
    picks: np.ndarray,
    losses: np.ndarray,
    marginals: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """B_i[k] + sum of L * 1{a_i = k} / pi_i[k] (MANAS, section 4.1, coordinated descent).

    Each agent takes the others for a part of the world. The expectation of what is added to an
    option is its loss, so that B estimates cumulative losses. With ones for losses it estimates
    for how many rounds, and B divided by that is an option's loss in a round.

    Args:
        blame: B so far, float64, a row for each agent.
        picks: [n, agents], joint actions.
        losses: [n], of these; in [0, 1] where bounds on regret are to hold.
        marginals: the probabilities with which options were drawn, exploration included.
    """
    found = []
    for i, (row, chances) in enumerate(zip(blame, marginals, strict=True)):
        weights = losses / chances[picks[:, i]]
        found.append(row + np.bincount(picks[:, i], weights=weights, minlength=len(row)))
    return found
