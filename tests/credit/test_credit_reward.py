from __future__ import annotations

import numpy as np
import pytest

from meritnas import tabular_space
from meritnas.credit.reward import AbsReward, MnasNetMaxReward, MnasNetReward, Quality, Reward

TOY = tabular_space(2, 1, 2, (2, 3, 4))
COST = TOY.costs["params"]
# 2-2 costs 15, 3-3 costs 25, 4-4 costs 37.
PICKS = np.array([[0, 0], [1, 1], [2, 2]])
LOSSES = np.array([0.9, 0.66, 0.1])


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (Quality(), [0.1, 0.34, 0.9]),
        (AbsReward(COST, 25, -2.0), [0.1 - 2 * 0.4, 0.34, 0.9 - 2 * 0.48]),
        (AbsReward(COST, 25, -1.0), [0.1 - 0.4, 0.34, 0.9 - 0.48]),
        (MnasNetReward(COST, 25, -0.5), [0.1 * 0.6**-0.5, 0.34, 0.9 * 1.48**-0.5]),
        (MnasNetMaxReward(COST, 25, -0.5), [0.1, 0.34, 0.9 * 1.48**-0.5]),
    ],
)
def test_rewards_are_their_formulas(reward: Reward, expected: list[float]) -> None:
    np.testing.assert_allclose(reward.of(LOSSES, PICKS), expected)


def test_what_fits_exactly_is_rewarded_by_quality_alone() -> None:
    fits = np.array([[1, 1], [2, 0]])
    losses = np.array([0.66, 0.6])
    for reward in (AbsReward(COST, 25), MnasNetReward(COST, 25), MnasNetMaxReward(COST, 25)):
        np.testing.assert_allclose(reward.of(losses, fits), Quality().of(losses, fits))


def test_only_the_hard_variant_leaves_small_networks_alone() -> None:
    small = PICKS[:1]
    quality = Quality().of(LOSSES[:1], small)
    assert MnasNetMaxReward(COST, 25).of(LOSSES[:1], small) == quality
    assert MnasNetReward(COST, 25).of(LOSSES[:1], small) > quality
    assert AbsReward(COST, 25).of(LOSSES[:1], small) < quality
