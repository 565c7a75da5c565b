"""Exported networks say what `predict` says, also about rows that are hardly data."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import torch
from test_exporting_preprocessing import codes, encoded

import meritnas
from flat_search import train
from meritnas.exporting.export import export

CELLS = [1e30, 9.97e36, -1e30, 1e15, 9e14, -9999.0, 1e39, 1e308, -1.7e308, np.nan, 0.3]


@pytest.fixture(scope="module", params=["standard", "quantile"])
def hostile_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on a column with fill values, and on one without."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"filled": rng.normal(size=120), "plain": rng.normal(size=120)})
    frame["kind"] = rng.choice(["u", "v"], 120)
    frame["y"] = np.where(frame.filled + frame.plain > 0, "yes", "no")
    frame.loc[::9, "filled"] = 9.97e36
    out = tmp_path_factory.mktemp(request.param) / "run"
    options: dict[str, Any] = {"epochs": 2, "seeds": 1, "scaling": request.param, "threads": 1}
    train(frame, "y", architecture="8-4", out=out, **options)
    return out


@pytest.fixture(scope="module")
def hostile() -> pd.DataFrame:
    cells = np.array(CELLS)
    kinds = ["u", "v"] * len(cells)
    pairs = {"filled": [*cells, *cells[::-1]], "plain": [*cells[::-1], *np.roll(cells, 3)]}
    return pd.DataFrame({**pairs, "kind": kinds})


@pytest.fixture(scope="module")
def given(hostile_run: Path, hostile: pd.DataFrame) -> tuple[torch.Tensor, torch.Tensor]:
    """What a graph takes of these rows, by the description alone."""
    export(hostile_run, "python", force=True)
    about = json.loads((hostile_run / "export" / "preprocessing.json").read_text())
    numbers = torch.tensor(hostile[about["numbers"]].to_numpy(float))
    return numbers, codes(hostile, about["columns"])


def test_graphs_say_the_same(
    hostile_run: Path, hostile: pd.DataFrame, given: tuple[torch.Tensor, torch.Tensor]
) -> None:
    expected = meritnas.load_predictor(hostile_run).outputs(hostile).numpy()
    assert np.isfinite(expected).all()
    model, *_ = export(hostile_run, "onnx", force=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    named = dict(zip(("numbers", "codes"), (one.numpy() for one in given), strict=True))
    np.testing.assert_allclose(session.run(["scores"], named)[0], expected, rtol=1e-4, atol=1e-4)
    program, *_ = export(hostile_run, "torch-export", force=True)
    scores = torch.export.load(program).module()(*given)[0].detach()
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_the_description_is_enough_to_say_the_same(
    hostile_run: Path, hostile: pd.DataFrame, given: tuple[torch.Tensor, torch.Tensor]
) -> None:
    predictor = meritnas.load_predictor(hostile_run)
    about = json.loads((hostile_run / "export" / "preprocessing.json").read_text())
    described = {column["column"]: column for column in about["columns"]}
    assert described["filled"]["missing_from"] == 1e15
    assert "missing_from" not in described["plain"]
    row = encoded(about["columns"], given[0].numpy(), hostile).astype(np.float32)
    np.testing.assert_allclose(row, predictor.encoder.transform(hostile), rtol=1e-6, atol=1e-6)
    source = hostile_run / "export" / "model.py"
    spec = importlib.util.spec_from_file_location("hostile_model", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network = module.load(source.with_name("weights.safetensors"))
    scores = network(torch.from_numpy(row)).detach()
    np.testing.assert_allclose(scores, predictor.outputs(hostile), rtol=1e-4, atol=1e-4)
