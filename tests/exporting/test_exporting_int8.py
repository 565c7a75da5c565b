"""Networks in whole numbers of 8 bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from meritnas import UsageError
from meritnas.data.bundled import load_bundled
from meritnas.exporting.export import export
from meritnas.exporting.int8_export import int8_files
from meritnas.exporting.trained import load_trained
from meritnas.exporting.verify import verify
from meritnas.prediction.predictor import load_predictor


def run_graph(path: Path, **inputs: np.ndarray) -> np.ndarray:
    found: np.ndarray = onnxruntime.InferenceSession(path).run(["probabilities"], inputs)[0]
    return found


def test_a_table_in_int8_says_nearly_the_same(curve_run: Path, tmp_path: Path) -> None:
    files = {p.name: p for p in export(curve_run, "onnx", tmp_path, quantize="int8")}
    told = json.loads(files["int8.json"].read_text())
    own = json.loads((curve_run / "result.json").read_text())["test"]["accuracy"]
    assert told["scores"]["float32"]["accuracy"] == pytest.approx(own)
    assert told["scores"]["int8"].keys() == told["scores"]["float32"].keys()
    assert told["calibration_rows"] > 50
    columns = json.loads(files["preprocessing.json"].read_text())["numbers"]
    numbers = load_bundled("wine")[0][columns].to_numpy(np.float64)
    plain = run_graph(files["model.onnx"], numbers=numbers)
    small = run_graph(files["model-int8.onnx"], numbers=numbers)
    assert 0 < np.abs(plain - small).max() < 0.2
    counted = {c.cost: c.found for c in verify(files["model-int8.onnx"]).checks}
    assert counted["params"] == {c.cost: c.found for c in verify(curve_run).checks}["params"]


def test_pictures_in_int8(image_run: Path, pixels: np.ndarray, tmp_path: Path) -> None:
    data = (pixels, np.arange(len(pixels)) % 3)
    path = tmp_path / "model-int8.onnx"
    path.write_bytes(int8_files(load_trained(image_run), image_run, data)[path.name])
    graph = onnx.load(path).graph
    kinds = {one.data_type for one in graph.initializer if len(one.dims) == 4}
    assert onnx.TensorProto.INT8 in kinds
    table = load_predictor(image_run).table(pixels)
    plain = table[[name for name in table if name.startswith("probability")]].to_numpy()
    assert 0 < np.abs(plain - run_graph(path, pixels=pixels)).max() < 0.2


def test_what_has_no_int8_form(text_run: Path, curve_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads words in order"):
        export(text_run, "onnx", tmp_path, quantize="int8")
    for form, asked in (("torch-export", "int8"), ("onnx", "int4")):
        with pytest.raises(UsageError, match="int8, and of the form onnx or python or docker or c"):
            export(curve_run, form, tmp_path, quantize=asked)
    assert not list(tmp_path.iterdir())
