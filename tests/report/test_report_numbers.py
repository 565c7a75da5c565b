from __future__ import annotations

import pytest

from meritnas.report.charts.score_range import score_range
from meritnas.report.numbers import (
    count_text,
    duration_text,
    interval_text,
    score_text,
    share_text,
    signed_text,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (41_153, "41,153"), (5_159_780_352, "5,159,780,352"), (20**20, "1.05e+26")],
)
def test_counts(number: int, text: str) -> None:
    assert count_text(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.2e-30, "1 in 8.3e+29"),
        (1.2e-10, "1 in 8.33 thousand million"),
        (1.2e-7, "1 in 8.33 million"),
        (5e-5, "1 in 20,000"),
        (18 / 8000, "0.22 %"),
        (0.01, "1.0 %"),
        (0.018625, "1.8 %"),
        (0.29, "29 %"),
        (0.9445, "94 %"),
        (3999 / 4000, "99.97 %"),
        (1 - 1e-9, "99.99 %"),
        (1.0, "100 %"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert share_text(share) == text


@pytest.mark.parametrize(
    ("mean", "spread", "text"),
    [
        (0.9652, 0.0141, "0.965 ± 0.014"),
        (1.0, 0.0, "1.000 ± 0.000"),
        (0.0253, 0.00286, "0.0253 ± 0.0029"),
        (-0.134, 0.5, "-0.134 ± 0.500"),
        (54.321, 1.29, "54.3 ± 1.3"),
        (123456.7, 89.1, "123,457 ± 89"),
        (0.0, None, "0.000"),
        (0.00012345, None, "0.000123"),
        (3e-9, None, "3.00e-09"),
    ],
)
def test_scores(mean: float, spread: float | None, text: str) -> None:
    assert score_text(mean, spread) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.09612, "+0.0961"),
        (-0.0046, "-0.0046"),
        (12.3, "+12.3000"),
        (-0.000123, "-0.00012"),
        (4.26e-6, "+0.0000043"),
        (-3.4e-7, "-3.4e-07"),
        (0.0, "0.0000"),
        (-2e-18, "0.0000"),
        (float("nan"), "+nan"),
        (float("inf"), "+inf"),
    ],
)
def test_what_is_not_nothing_never_looks_like_nothing(value: float, text: str) -> None:
    assert signed_text(value) == text


def test_intervals_have_the_digits_of_their_ends() -> None:
    assert interval_text(1.1e-6, 0.25) == "+0.0000011 to +0.2500"


@pytest.mark.parametrize(
    ("metric", "ends"),
    [("accuracy", (0.4, 1.0)), ("r2", (0.4, 1.0)), ("rmse", (0.4, 1.4)), (None, (0.4, 1.4))],
)
def test_a_score_varies_within_what_its_metric_can_be(
    metric: str | None, ends: tuple[float, float]
) -> None:
    assert score_range(metric, 0.9, 0.5) == pytest.approx(ends)
    if metric == "rmse":
        assert score_range(metric, 0.1, 0.5)[0] == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (7.43, "7.4 s"),
        (59.97, "1 min 00 s"),
        (125.2, "2 min 05 s"),
        (3599.8, "1 h 00 min"),
        (3800, "1 h 03 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
