from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import torch
from test_exporting_preprocessing import codes, raw

import meritnas
from meritnas.errors import UsageError
from meritnas.exporting import onnx_export
from meritnas.exporting.export import export
from meritnas.exporting.graph import Graph


@pytest.fixture(scope="module")
def table_model(table_run: Path) -> Path:
    return export(table_run, "onnx")[0]


def session_of(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def test_a_table_goes_in_as_it_is(table_model: Path, table_run: Path, frame: pd.DataFrame) -> None:
    assert table_model == table_run / "export" / "model.onnx"
    session = session_of(table_model)
    about = session.get_modelmeta().custom_metadata_map
    described = json.loads(table_model.with_name("preprocessing.json").read_text())
    assert json.loads(about["numbers"]) == described["numbers"]
    assert json.loads(about["codes"]) == ["city", "shop", "member"]
    assert json.loads(about["classes"]) == ["no", "yes"]
    given = {
        "numbers": raw(frame, described["numbers"]).numpy(),
        "codes": codes(frame, described["columns"]).numpy(),
    }
    scores, chances = session.run(["scores", "probabilities"], given)
    predictor = meritnas.load_predictor(table_run)
    outputs = predictor.outputs(frame)
    np.testing.assert_allclose(scores, outputs, atol=1e-4)
    np.testing.assert_allclose(chances, predictor.task.probabilities(outputs), atol=1e-4)


def test_pictures_go_in_as_pixels(image_run: Path, pixels: np.ndarray, tmp_path: Path) -> None:
    session = session_of(export(image_run, "onnx", tmp_path)[0])
    for count in (1, 17):
        scores, chances = session.run(None, {"pixels": pixels[:count]})
        outputs = meritnas.load_predictor(image_run).outputs(pixels[:count])
        np.testing.assert_allclose(scores, outputs, atol=1e-4)
        np.testing.assert_allclose(chances.sum(axis=1), np.ones(count), atol=1e-5)


@pytest.mark.parametrize(("cell", "width"), [("cell", 6), ("gru", 6), ("lstm", 12)])
def test_texts_of_any_length_carry_their_state(
    text_runs: dict[str, Path], cell: str, width: int, tmp_path: Path
) -> None:
    session = session_of(export(text_runs[cell], "onnx", tmp_path)[0])
    words = torch.randint(11, (4, 9))
    module = meritnas.load_predictor(text_runs[cell]).module.eval()
    with torch.no_grad():
        expected = module.advance(words)  # type: ignore[operator]
    state, found = np.zeros((4, width), dtype=np.float32), []
    for piece in (words[:, :1], words[:, 1:7], words[:, 7:]):
        scores, state = session.run(None, {"words": piece.numpy(), "state": state})
        found.append(scores)
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected[0], atol=1e-4)
    np.testing.assert_allclose(state, expected[1], atol=1e-4)


def test_several_modalities_go_in_as_rows(
    fusion_run: Path, views: dict[str, np.ndarray], tmp_path: Path
) -> None:
    session = session_of(export(fusion_run, "onnx", tmp_path)[0])
    predictor = meritnas.load_predictor(fusion_run)
    rows = predictor.encoder.transform(views)  # type: ignore[arg-type]
    scores, _ = session.run(None, {"rows": np.asarray(rows)})
    np.testing.assert_allclose(scores, predictor.outputs(views), atol=1e-4)


def test_what_differs_is_not_written(
    table_model: Path, table_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def converted(graph: Graph) -> bytes:
        with torch.no_grad():
            graph.module.get_parameter("network.output.bias").add_(0.001)
        return table_model.read_bytes()

    monkeypatch.setattr(onnx_export, "converted", converted)
    with pytest.raises(UsageError, match=r"its scores differ by up to 0.001.*nothing was written"):
        export(table_run, "onnx", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("package", ["onnx", "onnxscript", "onnxruntime"])
def test_a_missing_package_is_named(
    table_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"{package} is not.*pip install 'meritnas\[onnx\]'"):
        export(table_run, "onnx", tmp_path)
    assert not list(tmp_path.iterdir())
