from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Outcome

from meritnas.version import __version__
from unchecked import unchecked_copy

Command = Callable[..., Outcome]


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """The run on a small table, to be changed."""
    return unchecked_copy(trained, tmp_path / "copy")


def change(path: Path, **values: Any) -> None:
    """Give keys of a JSON file other values; the key is gone where that is `...`."""
    content = {**json.loads(path.read_text()), **values}
    kept = {name: value for name, value in content.items() if value is not ...}
    path.write_text(json.dumps(kept))


def test_a_whole_run_gives_no_notes(trained: Path, meritnas: Command) -> None:
    assert meritnas("show", trained).err == ""
    assert meritnas("report", trained).err == ""


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("result.json", {"test": ...}, "result.json lacks test"),
        ("config.json", {"data": None}, "config.json has no object 'data'"),
        ("config.json", {"versions": ["0.1"]}, "config.json has no object 'versions'"),
        ("config.json", {"settings": 3}, "config.json has no object 'settings'"),
    ],
)
def test_what_is_left_of_a_damaged_run_is_shown(
    name: str, values: dict[str, Any], says: str, copy: Path, meritnas: Command
) -> None:
    change(copy / name, **values)
    shown = meritnas("show", copy)
    assert shown.code == 0, shown.err
    assert f"note: {says}" in shown.err
    assert "of at most 300" in shown.out
    assert "in memory" not in shown.out
    written = meritnas("report", copy)
    assert written.code == 0, written.err
    assert f"note: {says}" in written.err
    assert written.out.strip() == str(copy / "report.html")


def test_candidates_are_shown_with_what_witnesses_said(copy: Path, meritnas: Command) -> None:
    best = json.loads((copy / "architecture.json").read_text())["candidates"][0]
    shown = meritnas("show", copy).out
    table = shown[shown.index("candidates") :]
    assert "one-shot" in table
    assert best["architecture"] in table
    assert f"{best['said']['size']:,.0f}" in table
    kept = json.loads((copy / "architecture.json").read_text())["candidates"]
    more = {"patterns": 205.5, "gradients": -1.3125, "trials": 1.4864, "a-witness-with-a-name": 1.0}
    many = [{**each, "said": {**each["said"], "beliefs": -9.5, **more}} for each in kept]
    change(copy / "architecture.json", candidates=many)
    narrow = meritnas("show", copy).out
    assert "7.5e-05" in narrow
    assert "in a wider terminal, and on the page: trials, a-witness-with-a-name" in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    change(copy / "architecture.json", candidates=[3])
    damaged = meritnas("show", copy)
    assert damaged.code == 0
    assert "candidates could not be read" in damaged.err


@pytest.mark.parametrize("values", [{"test": 3}, {"costs": 3}, {"seconds": None}])
def test_what_cannot_be_understood_is_left_out(
    values: dict[str, Any], copy: Path, meritnas: Command
) -> None:
    change(copy / "result.json", **values)
    shown = meritnas("show", copy)
    assert shown.code == 0, shown.err
    assert "note: costs and scores could not be read" in shown.err
    assert "->" in shown.out


@pytest.mark.parametrize(
    "text",
    [
        "Genotype(normal=[",
        "Genotype(normal=[1, 2])",
        "Genotype(normal=" + "[" * 500,
        "cell1(a.0, b.1): step1 = glu(z, x)",
    ],
)
def test_a_network_that_cannot_be_drawn_is_told_as_it_is(
    text: str, copy: Path, meritnas: Command
) -> None:
    change(copy / "result.json", architecture=text)
    shown = meritnas("show", copy)
    assert shown.code == 0, shown.err
    assert "note: the network's text is damaged" in shown.err
    assert text in shown.out
    assert "test accuracy" in shown.out
    written = meritnas("report", copy)
    assert written.code == 0, written.err
    assert "the part &#39;network&#39; could not be made" in (copy / "report.html").read_text()


@pytest.mark.parametrize("command", ["show", "report"])
def test_damaged_files_and_lines_are_said(command: str, copy: Path, meritnas: Command) -> None:
    with (copy / "events.jsonl").open("a") as log:
        log.write("[" * 100_000 + "\n")
    half = (copy / "preprocessing.json").read_text()[:99]
    (copy / "preprocessing.json").write_text(half)
    outcome = meritnas(command, copy)
    assert outcome.code == 0, outcome.err
    assert "1 line of events.jsonl could not be read and was left out" in outcome.err
    assert "preprocessing.json could not be read" in outcome.err


@pytest.mark.parametrize("command", ["show", "report"])
def test_a_run_that_goes_on_is_called_unfinished(
    command: str, copy: Path, meritnas: Command
) -> None:
    (copy / "result.json").unlink()
    outcome = meritnas(command, copy)
    assert outcome.code == 0, outcome.err
    assert outcome.err == "note: this run is not finished\n"


@pytest.mark.parametrize(
    "words",
    [
        ["show", "RUN"],
        ["report", "RUN"],
        ["explain", "RUN"],
        ["export", "RUN", "--to", "python"],
        ["predict", "RUN", "sales.csv"],
        ["search", "--resume", "RUN"],
        ["retrain", "RUN", "--epochs", "1", "--seeds", "1"],
    ],
)
def test_a_newer_version_is_named_once(
    words: list[str], copy: Path, sales: Path, meritnas: Command
) -> None:
    assert sales.name == "sales.csv"
    given = [str(copy) if word == "RUN" else word for word in words]
    versions = json.loads((copy / "config.json").read_text())["versions"]
    change(copy / "config.json", versions={**versions, "meritnas": "99.1.2"})
    outcome = meritnas(*given)
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("99.1.2") == 1
    assert f"newer than {__version__}" in outcome.err
