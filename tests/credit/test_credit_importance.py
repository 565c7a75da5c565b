from __future__ import annotations

from typing import Any

import numpy as np

from meritnas.credit.importance import Importance, shares
from meritnas.policy.laws import Draw
from meritnas.policy.policy import Policy

PICKS = np.array([[0, 1], [2, 0], [0, 0]])
LOSSES = np.array([0.3, 1.4, 0.9])
CENTER = [np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.4])]


class KnowingProbe:
    def losses(self, picks: np.ndarray, batch: Any) -> np.ndarray:
        del picks, batch
        return LOSSES


def gradient(form: Any) -> np.ndarray:
    probe: Any = KnowingProbe()
    drawn = Draw(PICKS, CENTER, None)
    policy = Policy((3, 2), 0.1)
    return Importance(form).assign(probe, None, drawn, policy).gradient  # type: ignore[arg-type]


def by_hand(weights: np.ndarray) -> np.ndarray:
    total = np.zeros(5)
    for weight, (a, b) in zip(weights, PICKS, strict=True):
        total += weight * (np.concatenate([np.eye(3)[a], np.eye(2)[b]]) - np.concatenate(CENTER))
    return total


def test_draws_pull_with_their_share_of_the_likelihood() -> None:
    weights = np.exp(-LOSSES) / np.exp(-LOSSES).sum()
    np.testing.assert_allclose(gradient("paper"), by_hand(weights))


def test_the_released_code_pushes_away_from_what_did_badly() -> None:
    weights = np.exp(LOSSES) / np.exp(LOSSES).sum()
    np.testing.assert_allclose(gradient("code"), -by_hand(weights))


def test_shares_sum_to_one_and_know_no_zero_point() -> None:
    found = shares(np.array([-1000.0, -1001.0, -1003.0]))
    np.testing.assert_allclose(found, shares(np.array([3.0, 2.0, 0.0])))
    np.testing.assert_allclose(found.sum(), 1.0)
