"""Runs that MeritNAS 0.1 wrote, in run format 1: they are read, shown, asked and continued.

`interrupted` was stopped in the middle of the search that `table` is the result of.
"""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import meritnas
from meritnas.cli.main import main
from meritnas.prepare.config import settings_of

RUNS = Path(__file__).parent / "runs_of_0_1"
FINISHED = ("table", "images", "text", "fusion")


@pytest.fixture
def old(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of a run that finds its data."""
    folder = tmp_path / request.param
    shutil.copytree(RUNS / request.param, folder)
    config = json.loads((folder / "config.json").read_text())
    assert config["version"] == 1
    if (RUNS / config["data"]["location"]).exists():
        config["data"]["location"] = str(RUNS / config["data"]["location"])
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def command(*words: str | Path) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()), pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert not ended.value.code
    return out.getvalue()


def kept(folder: Path, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / name).read_text())
    return found


@pytest.mark.parametrize("old", FINISHED, indirect=True)
def test_they_are_shown_and_reported(old: Path) -> None:
    result = kept(old, "result.json")
    assert f"{result['params']:,}" in command("show", old)
    command("report", old)
    page = (old / "report.html").read_text()
    assert str(result["strategy"]) in page
    assert "was left out" not in page
    assert "meritnas search" in page  # the command that repeats it


@pytest.mark.parametrize("old", FINISHED, indirect=True)
def test_their_networks_answer(old: Path) -> None:
    if old.name == "text":
        assert len(command("predict", old, "--prompt", "the cat", "--words", "3").split()) >= 3
        return
    predictor = meritnas.load_predictor(old)
    if old.name == "images":
        pixels = np.zeros((2, *predictor.encoder.inputs[1:]), dtype=np.uint8)
        assert len(predictor.predict(pixels)) == 2
        return
    data = "wine" if old.name == "table" else RUNS / "views.npz"
    answers = json.loads(command("predict", old, data, "--json"))
    assert answers["rows"] == len(answers["predictions"]) > 50


@pytest.mark.parametrize("old", FINISHED, indirect=True)
def test_a_lost_result_is_found_again(old: Path) -> None:
    before = kept(old, "result.json")
    (old / "result.json").unlink()
    summary = json.loads(command("search", "--resume", old, "--quiet", "--json"))
    for name in ("architecture", "params", "limits", "race", "strategy", "space"):
        assert summary[name] == before[name]
    # More is counted now, and in the size what a file may say beside its weights.
    size = before["costs"].pop("size", None)
    assert before["costs"].items() <= summary["costs"].items()
    words = 40  # `,"threshold":"..."` with 24 letters, in whole words of eight bytes
    assert size is None or summary["costs"]["size"] == size + words
    assert summary["test"] == pytest.approx(before["test"], rel=1e-4)


@pytest.mark.parametrize("old", ["interrupted"], indirect=True)
def test_a_search_goes_on_to_the_result_it_would_have_had(old: Path) -> None:
    assert not (old / "result.json").exists()
    command("search", "--resume", old, "--quiet")
    whole = kept(RUNS / "table", "result.json")
    assert kept(old, "result.json")["race"] == whole["race"]
    assert kept(old, "result.json")["test"] == pytest.approx(whole["test"], abs=0.05)


@pytest.mark.parametrize("old", FINISHED, indirect=True)
def test_they_are_trained_again(old: Path) -> None:
    found = meritnas.retrain(old, epochs=1, seeds=1)
    assert found.summary["retrain_epochs"] == 1


def test_all_settings_of_then_have_their_place_now() -> None:
    table, images, text, fusion = (
        settings_of(kept(RUNS / name, "config.json")) for name in FINISHED
    )
    assert table.strategy == meritnas.Tabnas(sampling="rejection")
    assert table.space == meritnas.Tabular(widths=((4, 8, 16),) * 3)
    assert table.recipe.dropout == 0.1
    assert images.space == meritnas.Nasbench201(4, 1, 4, 1, 1)
    assert (images.preset, images.retrain_epochs) == ("quick", 1)
    assert text.space == meritnas.Recurrent(width=8, nodes=2, known_cells=False)
    assert text.reading == meritnas.TextReading()
    assert fusion.space == meritnas.Fusion(
        channels=4, length=2, cells=2, heads=False, sparsity=0.1, fista_steps=2
    )
    assert fusion.reading == meritnas.ModalityReading()
