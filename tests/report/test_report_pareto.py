from __future__ import annotations

import io
import math
from typing import Any

import pytest
from figure_helpers import Drawn
from rich.console import Console

from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.report.charts.pareto_figure import pareto_file
from meritnas.report.pareto_points import BEST, NOT_BEST
from meritnas.report.terminal.pareto_table import pareto_table

ROWS: list[dict[str, Any]] = [
    {
        "limit": None,
        "architecture": "128-64-32",
        "params": 20345,
        "valid_loss": 0.31,
        "test": {"accuracy": 0.97493, "log_loss": 0.08678},
        "test_spread": {"accuracy": 0.00279, "log_loss": 0.011},
        "folder": "",
        "best": True,
    },
    {
        "limit": 10000,
        "architecture": "64-32-8",
        "params": 9876,
        "valid_loss": 0.5,
        "test": {"accuracy": 0.95, "log_loss": 0.1},
        "test_spread": {"accuracy": 0.01, "log_loss": 0.02},
        "folder": "rung-1",
        "best": False,
    },
    {
        "limit": 500,
        "architecture": "8-8-8",
        "params": 432,
        "valid_loss": 0.45,
        "test": {"accuracy": 0.9, "log_loss": 0.3},
        "test_spread": {"accuracy": 0.0, "log_loss": 0.0},
        "folder": "rung-2",
        "best": True,
    },
]
UNTESTED = [{**row, "test": {}, "test_spread": {}} for row in ROWS]


def printed(rows: list[dict[str, Any]]) -> list[str]:
    """Its lines, but for rules, with single blanks."""
    file = io.StringIO()
    Console(file=file, width=80).print(pareto_table(rows))
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    return [line for line in lines if any(char.isalnum() for char in line)]


def test_the_table_has_a_line_for_each_limit() -> None:
    title, head, *lines = printed(ROWS)
    assert title == "smaller limits"
    assert head == "at most network parameters test accuracy"
    assert lines == [
        "no limit 128-64-32 20,345 0.975 ± 0.003",
        "10,000 64-32-8 9,876 0.950 ± 0.010 one no larger is as good",
        "500 8-8-8 432 0.900",
    ]


def test_without_test_rows_the_validation_loss_is_shown() -> None:
    _, head, *lines = printed(UNTESTED)
    assert head.endswith("parameters validation loss")
    assert lines[0].endswith(" 20,345 0.310")
    assert lines[2].endswith(" 432 0.450")


def test_points_are_at_their_parameters_and_scores() -> None:
    picture = Drawn(pareto_file(ROWS))
    assert picture.texts[0] == "Trade-off: test accuracy against parameters"
    assert {"parameters", "test accuracy", "10,000", "0.9", BEST, NOT_BEST} <= set(picture.texts)
    assert {row["architecture"] for row in ROWS} <= set(picture.texts)
    small, large, other = picture.points
    assert [each.name for each in picture.points] == ["8-8-8", "128-64-32", "64-32-8"]
    assert [each.hollow for each in picture.points] == [False, False, True]
    # Equal factors of parameters are equal ways to the right, equal steps of the score ways up.
    across = (large.x - small.x) / math.log(20345 / 432)
    assert other.x - small.x == pytest.approx(across * math.log(9876 / 432), abs=0.2)
    up = (small.y - large.y) / (0.97493 - 0.9)
    assert small.y - other.y == pytest.approx(up * (0.95 - 0.9), abs=0.2)
    # The line goes through those that are the best; spreads are above and below their points.
    assert picture.lines == [[(small.x, small.y), (large.x, large.y)]]
    for point, spread in ((small, 0.0), (large, 0.00279), (other, 0.01)):
        low, high = picture.range_at(point.x)
        assert low - point.y == pytest.approx(up * spread, abs=0.2)
        assert point.y - high == pytest.approx(up * spread, abs=0.2)


def test_a_spread_stays_within_what_a_metric_can_be() -> None:
    picture = Drawn(pareto_file([{**ROWS[0], "test": {"accuracy": 0.995}}, ROWS[2]]))
    small, large = picture.points
    up = (small.y - large.y) / (0.995 - 0.9)
    assert large.y - picture.range_at(large.x)[1] == pytest.approx(up * 0.00279, abs=0.2)
    wide = {**ROWS[0], "test": {"accuracy": 0.995}, "test_spread": {"accuracy": 0.05}}
    picture = Drawn(pareto_file([wide, ROWS[2]]))
    small, large = picture.points
    up = (small.y - large.y) / (0.995 - 0.9)
    assert large.y - picture.range_at(large.x)[1] == pytest.approx(up * 0.005, abs=0.2)


def test_without_test_rows_the_validation_loss_is_drawn() -> None:
    picture = Drawn(pareto_file(UNTESTED))
    assert "validation loss" in picture.texts
    assert picture.points[1].y > picture.points[0].y  # 0.31 is below 0.45
    assert picture.lines


def test_one_network_alone_is_a_point() -> None:
    picture = Drawn(pareto_file(ROWS[:1]))
    (point,) = picture.points
    assert point.name == "128-64-32"
    assert not picture.lines


def test_a_point_that_a_smaller_one_equals_is_off_the_line() -> None:
    for best in (True, False):
        rows = [ROWS[0], {**ROWS[1], "best": best}, ROWS[2]]
        (drawn,) = Drawn(pareto_file(rows)).lines
        assert len(drawn) == (3 if best else 2)


def test_a_network_without_parameters_and_a_loss_without_bounds_are_no_errors() -> None:
    picture = Drawn(pareto_file([ROWS[0], {**ROWS[2], "params": 0}]))
    assert len(picture.points) == 2
    broken = [{**row, "valid_loss": math.inf} for row in UNTESTED]
    assert Drawn(pareto_file(broken)).texts == ["Trade-off"]


def test_names_of_points_do_not_meet() -> None:
    rows = [
        {**ROWS[0], "architecture": f"{k}-name-of-a-network", "params": 1000 + k} for k in range(9)
    ]
    picture = Drawn(pareto_file(rows))
    shown = [text for text in picture.texts if text.endswith("-network")]
    assert 1 <= len(shown) < 9
    assert len({each.name for each in picture.points}) == 9  # all say theirs when pointed at


def test_networks_of_cells_are_a_few_words() -> None:
    cell = "|none~0|+|avg_pool_3x3~0|none~1|+|nor_conv_1x1~0|nor_conv_3x3~1|skip_connect~2|"
    row = {**ROWS[0], "architecture": cell, "short": nasbench201_space().short(cell)}
    text = " ".join(printed([row]))
    assert "none|avg none|1x1 3x3 skip" in text
    assert "avg_pool" not in text
    del row["short"]  # as runs of earlier versions have it
    assert "avg_pool" in " ".join(printed([row]))
