from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.credit.baseline import MovingAverage, Paired

rewards = st.floats(-5, 5)


@given(rewards, st.integers(1, 30), st.integers(1, 4))
def test_a_constant_reward_gives_no_signal_from_the_first_step_on(
    reward: float, steps: int, draws: int
) -> None:
    average = MovingAverage(0.9)
    for _ in range(steps):
        assert average.signals([reward] * draws) == pytest.approx([0.0] * draws, abs=1e-9)
        assert average.value == pytest.approx(reward)


@given(rewards)
def test_the_first_signal_is_exactly_zero(reward: float) -> None:
    assert MovingAverage(0.9).signals([reward]) == [0.0]


@given(st.lists(rewards, min_size=2, max_size=20), st.sampled_from([0.5, 0.9, 0.95]))
def test_a_signal_is_the_reward_minus_the_average_before_it(
    history: list[float], decay: float
) -> None:
    average = MovingAverage(decay)
    for reward in history[:-1]:
        average.signals([reward])
    # The debiased average, by its definition.
    ages = range(len(history) - 2, -1, -1)
    weights = [decay**age for age in ages]
    before = sum(w * r for w, r in zip(weights, history[:-1], strict=True)) / sum(weights)
    assert average.value == pytest.approx(before, abs=1e-9)
    assert average.signals([history[-1]]) == pytest.approx([history[-1] - before], abs=1e-9)


def test_several_rewards_of_one_step_share_one_baseline() -> None:
    average = MovingAverage(0.9)
    average.signals([1.0])
    assert average.signals([2.0, 4.0, 0.0]) == pytest.approx([1.0, 3.0, -1.0])
    one_by_one = MovingAverage(0.9)
    for reward in (1.0, 2.0, 4.0, 0.0):
        one_by_one.signals([reward])
    assert average.value == pytest.approx(one_by_one.value)


def test_no_rewards_change_nothing() -> None:
    average = MovingAverage(0.9)
    assert average.signals([]) == []
    average.signals([3.0])
    assert average.signals([]) == []
    assert average.value == pytest.approx(3.0)


def test_a_saved_average_continues() -> None:
    average, other = MovingAverage(0.9), MovingAverage(0.9)
    average.signals([1.0, -2.0])
    other.load_state_dict(average.state_dict())
    assert other.signals([0.3]) == average.signals([0.3])
    assert other.value == average.value


@given(st.lists(rewards, min_size=2, max_size=10))
def test_a_paired_signal_is_the_reward_minus_the_mean_of_the_others(found: list[float]) -> None:
    expected = [
        reward - sum(found[:k] + found[k + 1 :]) / (len(found) - 1)
        for k, reward in enumerate(found)
    ]
    paired = Paired()
    assert paired.signals(found) == pytest.approx(expected, abs=1e-9)
    # What moves all rewards of an update alike does not matter, and nothing is remembered.
    assert paired.signals([r + 3.0 for r in found]) == pytest.approx(expected, abs=1e-9)


def test_a_reward_without_a_pair_gives_no_signal() -> None:
    assert Paired().signals([4.0]) == [0.0]
    assert Paired().signals([]) == []
