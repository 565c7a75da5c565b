"""Graphs that take the columns of a table as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from flat_search import train
from meritnas.exporting.export import export
from meritnas.exporting.preprocessing_export import describe
from meritnas.exporting.raw_onnx import raw_graph
from meritnas.exporting.trained import load_trained
from meritnas.exporting.verify import verify
from meritnas.prediction.predictor import load_predictor


@pytest.fixture(scope="module")
def raw_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers with gaps, texts, numbers that are categories, truths; names that graphs have."""
    rng, rows = np.random.default_rng(0), 90
    frame = pd.DataFrame(
        {
            "numbers": rng.normal(5, 2, rows).round(3),
            "codes": rng.choice(["10", "x", "7"], rows),
            "city of birth": rng.choice(["Bonn", "Ulm", "Köln"], rows),
            "linear": rng.choice(["true", "false"], rows),
            "answer": np.arange(rows) % 2,
        }
    )
    frame.loc[::9, "numbers"] = None
    out = tmp_path_factory.mktemp("raw") / "run"
    train(frame, "answer", architecture="8-8", layers=2, epochs=1, seeds=1, out=out)
    return out


def test_columns_go_in_as_they_are(raw_run: Path, tmp_path: Path) -> None:
    files = {path.name: path for path in export(raw_run, "onnx", tmp_path)}
    assert "raw.onnx" in files
    session = onnxruntime.InferenceSession(files["raw.onnx"])
    rows = pd.DataFrame(
        {
            "city of birth": ["Ulm", "Köln", "Paris", "", "Bonn"],
            "numbers": [5.5, None, 1e9, -1.0, 0.0],
            "linear": ["true", "FALSE", "True", "", "maybe"],
            "codes": ["10", "10.0", "x", "7", "11"],
        }
    )
    given = {
        name: cells.to_numpy(np.float64 if name == "numbers" else object)
        for name, cells in rows.items()
    }
    scores, chances = session.run(None, given)
    known = load_predictor(raw_run)
    np.testing.assert_allclose(scores, known.outputs(rows).numpy(), atol=1e-5)
    np.testing.assert_allclose(chances[:, 1], known.table(rows)["probability_1"], atol=1e-5)
    own = {check.cost: check.found for check in verify(files["raw.onnx"]).checks}
    assert own["params"] == {c.cost: c.found for c in verify(raw_run).checks}["params"]


def test_no_graph_reads_dates_or_pictures(table_run: Path, image_run: Path) -> None:
    for run in (table_run, image_run):
        assert raw_graph(b"", describe(load_trained(run))) is None
