from __future__ import annotations

import io
import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from page_helpers import Page, code, section
from rich.console import Console

from meritnas.report.charts.modality_figure import modality_file
from meritnas.report.page.page import report_page
from meritnas.report.terminal.modality_table import worth_table
from meritnas.store.run_store import FORMAT

VALUES = {"value": 0.25, "low": 0.125, "high": 0.5, "alone": 0.625, "without": 0.375}
FOUND: dict[str, Any] = {
    "metric": "f1_weighted",
    "score": 0.75,
    "nothing": 0.2,
    "modalities": [
        {"modality": "sound", **VALUES},
        {"modality": "noise", **dict.fromkeys(VALUES, -1e-17), "alone": 0.2},
    ],
    "disturbed": [
        {"disturbance": kind, "modality": name, "level": level, "score": score}
        for kind, name, level, score in (
            ("gaussian", "sound", 0.0, 0.75),
            ("gaussian", "sound", 0.01, 0.5),
            ("gaussian", "all", 0.01, 0.25),
            ("missing", "any", 0.3, 0.125),
        )
    ],
}


@pytest.fixture(params=[1, 2])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """What a run on modalities leaves behind, but for nearly all of it, in both run formats."""
    space = "fusion" if request.param == 1 else {"name": "fusion"}
    config = {
        **{"format": FORMAT, "version": request.param, "settings": {"space": space}},
        "data": {"kind": "modalities", "name": "views", "location": "views.npz"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "result.json").write_text(json.dumps({"architecture": "some"}))
    return tmp_path


def test_values_and_scores_are_shown(run: Path) -> None:
    (run / "modalities.json").write_text(json.dumps(FOUND))
    shown = section(report_page(run), "modalities")
    assert "The test weighted F1 is 0.750 with all modalities and 0.200 with none" in shown
    assert "<title>sound: +0.25 (+0.125 to +0.5)</title>" in shown
    cells = ("sound", "+0.2500", "+0.1250 to +0.5000", "0.625", "0.375", "0.375")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    assert "<td>noise</td><td>0.0000</td><td>0.0000 to 0.0000</td>" in shown


def test_noise_is_a_table_with_a_column_for_each_level(run: Path) -> None:
    (run / "modalities.json").write_text(json.dumps(FOUND))
    text = report_page(run)
    shown = section(text, "noise")
    for cells in (
        ("gaussian", "sound", "0.750", "0.500", ""),
        ("gaussian", "all", "", "0.250", ""),
        ("missing", "any", "", "", "0.125"),
    ):
        assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    for level in ("0", "0.01", "0.3"):
        assert f">at {level}</th>" in shown
    assert {"weighted F1, gaussian", "weighted F1, missing"} <= set(Page(text).captions)


WORTH = [
    {"disturbance": "shot", "modality": noisy, "level": level, "score": 0.5, "values": values}
    for noisy, level, values in (
        ("sound", 0.0, {"sound": 0.25, "noise": 0.125}),
        ("sound", 0.1, {"sound": 0.0625, "noise": 0.1875}),
        ("noise", 0.1, {"sound": 0.3125, "noise": -0.5}),
        ("all", 0.1, {"sound": 0.03125, "noise": 0.0}),
    )
]


def test_what_modalities_are_worth_under_noise_is_a_table_and_a_figure(run: Path) -> None:
    (run / "modalities.json").write_text(json.dumps({**FOUND, "disturbed": WORTH}))
    text = report_page(run)
    shown = section(text, "noisy-worth")
    for cells in (
        ("shot", "it", "sound", "+0.2500", "+0.0625"),  # not what noise on others makes of it
        ("shot", "it", "noise", "", "-0.5000"),
        ("shot", "all", "sound", "", "+0.0312"),
        ("shot", "all", "noise", "", "0.0000"),
    ):
        assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    assert "worth of what is noisy, shot" in Page(text).captions
    assert "worth of what is noisy, shot" in modality_file(FOUND["modalities"], WORTH, "accuracy")


def test_the_terminal_shows_the_same() -> None:
    table = worth_table(WORTH)
    assert table is not None
    console = Console(width=100, file=io.StringIO(), highlight=False)
    console.print(table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any("0: +0.2500" in line and "0.1: +0.0625" in line for line in lines)
    assert worth_table(FOUND["disturbed"]) is None  # of an earlier version


def test_without_noise_there_is_no_table_of_it(run: Path) -> None:
    (run / "modalities.json").write_text(json.dumps({**FOUND, "disturbed": []}))
    sections = Page(report_page(run)).sections
    assert "modalities" in sections
    assert "noise" not in sections


def test_a_run_on_modalities_says_which_command_to_run(run: Path) -> None:
    command = f"meritnas explain {run} --modalities --noise gaussian"
    assert code(report_page(run), "modalities") == command
    (run / "modalities.json").write_text("{")
    text = report_page(run)
    assert "modalities.json has nothing that can be read" in section(text, "modalities")
    assert "modalities.json could not be read" in section(text, "notes")


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("modalities", {"modalities": [{"modality": "sound"}]}),
        ("modalities", {"modalities": [{"modality": "sound", **VALUES, "low": float("inf")}]}),
        ("modalities", {"score": None}),
        ("noise", {"disturbed": [{"disturbance": "shot"}]}),
        ("noise", {"disturbed": 7}),
    ],
)
def test_damage_costs_its_own_part_only(run: Path, part: str, changed: dict[str, Any]) -> None:
    planted = json.dumps({**FOUND, **changed}).replace("Infinity", "1e999")
    (run / "modalities.json").write_text(planted)
    text = report_page(run)
    assert part not in Page(text).sections
    assert ({"modalities", "noise"} - {part}) <= set(Page(text).sections)
    assert f"the part '{part}' could not be made" in unescape(section(text, "notes"))
