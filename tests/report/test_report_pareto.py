from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.report.charts.pareto_figure import draw_pareto
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


@pytest.mark.parametrize("rows", [ROWS, UNTESTED, ROWS[:1]])
def test_the_figure_is_a_picture_with_something_on_it(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path / "pareto.png"
    draw_pareto(rows, path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with Image.open(path) as image:
        width, height = image.size
        colours = image.convert("RGB").getcolors(width * height)
    assert min(width, height) > 400
    assert colours is not None
    blue = sum(count for count, (r, g, b) in colours if b > r + 60 and b > g + 20)  # type: ignore[misc]
    assert blue > 50  # the points


def test_a_point_that_a_smaller_one_equals_is_off_the_line(tmp_path: Path) -> None:
    pictures = []
    for best in (True, False):
        rows = [ROWS[0], {**ROWS[1], "best": best}, ROWS[2]]
        draw_pareto(rows, tmp_path / "pareto.png")
        pictures.append((tmp_path / "pareto.png").read_bytes())
    assert pictures[0] != pictures[1]


def test_networks_of_cells_are_a_few_words() -> None:
    cell = "|none~0|+|avg_pool_3x3~0|none~1|+|nor_conv_1x1~0|nor_conv_3x3~1|skip_connect~2|"
    row = {**ROWS[0], "architecture": cell, "short": nasbench201_space().short(cell)}
    text = " ".join(printed([row]))
    assert "none|avg none|1x1 3x3 skip" in text
    assert "avg_pool" not in text
    del row["short"]  # as runs of earlier versions have it
    assert "avg_pool" in " ".join(printed([row]))
