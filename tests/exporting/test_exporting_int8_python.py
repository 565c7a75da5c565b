"""Folders with a network as Python whose weights are whole numbers of 8 bits."""

from __future__ import annotations

import importlib
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor, nn

import meritnas
import meritnas.nn as mn
from flat_search import search
from meritnas import UsageError, resume
from meritnas.cli.main import main
from meritnas.data.bundled import load_bundled
from meritnas.exporting.export import export
from meritnas.exporting.int8_python import int8_weights
from meritnas.exporting.trained import load_trained
from meritnas.exporting.verify import verify
from meritnas.families.int8_weights import COST, FILE
from meritnas.prediction.predictor import load_predictor
from meritnas.report.repeat import repeat_command
from meritnas.settings.limits import Limits

QUICK = {"widths": [2, 4, 8], "layers": 2, "epochs": 2, "retrain_epochs": 2, "retrain_seeds": 1}


def said(*arguments: object) -> tuple[int, str]:
    """The exit code of a command, and what it prints."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0), out.getvalue()


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table within 600 bytes in int8; also for a ladder of limits, with a plain network."""
    out = tmp_path_factory.mktemp("small") / "run"
    limits = {"max_size_kb": 0.6, "size_of": "int8", "pareto": True, "plain": True}
    search("wine", finalists=1, threads=1, out=out, **limits, **QUICK)
    return out


def test_a_limit_on_the_file_in_int8_is_kept_by_the_file(small_run: Path, tmp_path: Path) -> None:
    result = json.loads((small_run / "result.json").read_text())
    assert result["limits"] == {COST: 600}
    assert result["costs"]["size"] > 600 >= result["costs"][COST]
    export(small_run, "python", tmp_path, quantize="int8")
    stored = (tmp_path / FILE).stat().st_size
    assert result["costs"][COST] - 168 <= stored <= result["costs"][COST]
    assert not (tmp_path / "weights.safetensors").exists()
    for path in (small_run, tmp_path):
        (check,) = [check for check in verify(path).checks if check.cost == COST]
        assert (check.found, check.limit, check.breached) == (stored, 600, False)
    tight = Limits(max_size_kb=(stored - 1) / 1000, size_of="int8")
    assert not verify(tmp_path, tight).kept
    assert not verify(small_run, tight).kept
    code, told = said("verify", tmp_path, "--max-size-kb", (stored - 1) / 1000, "--size-of", "int8")
    assert code == 1
    assert "BREACHED (bytes of weights-int8.safetensors)" in told
    assert said("verify", tmp_path)[0] == 0


def test_plain_networks_and_those_of_the_curve_keep_it(small_run: Path) -> None:
    result = json.loads((small_run / "result.json").read_text())
    family = load_trained(small_run).family
    assert result["plain"]["architecture"] == "8-8" or family.cost("8-8", COST) > 600
    for row in (result["plain"], *result["pareto"]):
        assert family.cost(row["architecture"], COST) <= 600
        weights = int8_weights(family.child(row["architecture"]))
        assert len(weights) <= 600


def test_all_who_show_a_run_say_which_file_is_meant(small_run: Path, tmp_path: Path) -> None:
    assert "stored size in int8" in said("show", small_run)[1]
    config = json.loads((small_run / "config.json").read_text())
    assert config["settings"]["limits"] == {COST: 600}
    assert "stored size in int8" in (small_run / "report.html").read_text()
    assert "--max-size-kb 0.6 --size-of int8" in str(repeat_command(config))
    export(small_run, "python", tmp_path, quantize="int8")
    card = (tmp_path / "README.md").read_text()
    assert "| stored size in int8 |" in card
    assert FILE in card


def test_a_killed_search_goes_on_within_the_same_limit(tmp_path: Path) -> None:
    limits = {"max_size_kb": 0.6, "size_of": "int8"}
    search("wine", finalists=1, threads=1, out=tmp_path / "run", **limits, **QUICK)
    before = (tmp_path / "run" / "result.json").read_text()
    for name in ("result.json", "retrain.json", "model.safetensors"):
        (tmp_path / "run" / name).unlink()
    found = resume(tmp_path / "run")
    assert found.summary["limits"] == {COST: 600}
    assert found.summary["costs"] == json.loads(before)["costs"]


def test_an_exported_table_answers_nearly_as_before(
    curve_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(curve_run, "python", tmp_path, quantize="int8")
    told = json.loads((tmp_path / "weights-int8.json").read_text())
    own = json.loads((curve_run / "result.json").read_text())["test"]
    assert told["scores"]["float32"]["accuracy"] == pytest.approx(own["accuracy"])
    assert told["scores"]["int8"].keys() == own.keys()
    assert told["bytes"]["int8"] == (tmp_path / FILE).stat().st_size
    frame = load_bundled("wine")[0]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "predict", raising=False)
    program = importlib.import_module("predict")
    plain, small = load_predictor(curve_run).table(frame), program.Predictor().table(frame)
    columns = [name for name in small if name.startswith("probability")]
    off = [np.abs(plain[name].to_numpy() - small[name]).max() for name in columns]
    assert 0 < max(off) < 0.02


def test_other_kinds_and_the_container_in_int8(
    image_run: Path,
    text_run: Path,
    fusion_run: Path,
    table_run: Path,
    pixels: np.ndarray,
    frame: object,
    tmp_path: Path,
) -> None:
    given = {
        "image": (image_run, "python", (pixels, np.arange(len(pixels)) % 3)),
        "text": (text_run, "python", None),
        "fusion": (fusion_run, "python", None),
        "table": (table_run, "docker", frame),
    }
    for name, (run, form, data) in given.items():
        files = export(run, form, tmp_path / name, quantize="int8", data=data)
        assert (tmp_path / name / FILE) in files
        trained = load_trained(run)
        counted = {c.cost: c.found for c in verify(tmp_path / name, run_code=True).checks}
        spare = trained.family.cost(trained.architecture, COST) - (counted[COST] or 0)
        assert 0 <= spare <= 168
        assert counted["params"] == trained.family.cost(trained.architecture, "params")
        told = json.loads((tmp_path / name / "weights-int8.json").read_text())
        for metric, value in told["scores"]["float32"].items():
            assert told["scores"]["int8"][metric] == pytest.approx(value, rel=0.1, abs=0.1)
    docker = (tmp_path / "table" / "Dockerfile").read_text()
    assert f"COPY model.py {FILE} encoder.json" in docker
    assert " weights.safetensors" not in docker


def test_estimators_take_the_size_in_int8() -> None:
    X, y = load_bundled("wine")[0].iloc[:, :-1], np.arange(178) % 2
    space = meritnas.Tabular(layers=2, widths=(2, 4, 8))
    given = {"epochs": 1, "space": space, "random_state": 0}
    found = meritnas.NASClassifier(max_size_kb=0.5, size_of="int8", **given).fit(X, y)
    assert found.costs_[COST] <= 500 < found.costs_["size"]
    with pytest.raises(UsageError, match="give that too"):
        meritnas.NASClassifier(size_of="int8", **given).fit(X, y)


def test_wrong_values_are_refused(tmp_path: Path) -> None:
    run = ("search", "wine", "--out", tmp_path / "run")
    for flags, words in (
        (("--size-of", "int8"), "give that too"),
        (("--size-of", "int4", "--max-size-kb", "4"), "float32"),
        (("--size-of", "int8", "--max-size-kb", "0.2"), "0.200 kB as stored in int8"),
    ):
        code, told = said(*run, *flags)
        assert code == 2, told
        assert words in " ".join(told.split())
        assert "Traceback" not in told
    assert not (tmp_path / "run").exists()


class Own(nn.Module):
    """Cannot be traced."""

    def forward(self, rows: Tensor) -> Tensor:
        """What comes in."""
        return rows if rows.sum() > 0 else rows * 2


def test_what_cannot_be_written_as_python_has_no_such_limit(tmp_path: Path) -> None:

    def build(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
        width = pick.width("width", 4, 8)
        return nn.Sequential(mn.Linear(inputs, width), Own(), mn.Linear(width, outputs))

    space = meritnas.space_of(build, 13, 3)
    with pytest.raises(UsageError, match=r"networks as Python, and .* leave size_of out"):
        meritnas.search("wine", space=space, max_size_kb=4, size_of="int8", out=tmp_path / "run")
