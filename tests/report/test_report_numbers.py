from __future__ import annotations

import pytest

from meritnas.report.numbers import count_text, duration_text, score_text, share_text


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
