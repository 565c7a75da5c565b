from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import meritnas
from meritnas.cli.main import main
from meritnas.data.tables.bundle import encode_table, make_bundle, outline_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.report.page.page import report_page
from meritnas.training.trivial import trivial_scores
from meritnas.training.yardstick import yardstick


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    frame["shop"] = rng.choice(["p", "q", "r"], n)
    frame["sum"] = 3 * frame["a"] - frame["b"] + (frame["shop"] == "q") + rng.normal(size=n) / 10
    frame["odd"] = np.where((frame["a"] > 0) ^ (frame["b"] > 0), "yes", "no")
    frame["kind"] = np.where(frame["c"] > 1, "high", np.where(frame["a"] > 0, "mid", "low"))
    return frame


def measured(frame: pd.DataFrame, target: str, **reading: Any) -> Any:
    how = TableReading(**reading)
    source = load_source(frame, target)
    bundle = encode_table(source, outline_table(source, 0, how), reading=how)
    found = yardstick(bundle, 0, None)
    assert found is not None
    return bundle, found


def test_a_linear_target() -> None:
    bundle, found = measured(table().drop(columns=["odd", "kind"]), "sum")
    assert found.linear["r2"] > 0.99 > found.trees["r2"] > 0.8
    assert abs(found.trivial["r2"]) < 0.1
    plain = LinearRegression()
    wide, test = (
        pd.get_dummies(pd.DataFrame(part.inputs.numpy()), columns=[3]).to_numpy()
        for part in (bundle.train, bundle.test)
    )
    own = plain.fit(wide, bundle.train.target).score(test, bundle.test.target)
    assert found.linear["r2"] == pytest.approx(own, abs=1e-3)
    assert (found.rows, found.tested) == (len(bundle.train), len(bundle.test))


def test_a_target_that_only_trees_can_tell() -> None:
    bundle, found = measured(table().drop(columns=["sum", "kind"]), "odd")
    assert found.trivial == trivial_scores(bundle.task, bundle.train, bundle.test)
    assert found.trees["accuracy"] > 0.9 > 0.65 > found.linear["accuracy"]
    again = yardstick(bundle, 0, None)
    assert again is not None
    assert {**again.to_json(), "seconds": 0} == {**found.to_json(), "seconds": 0}


def test_several_classes_a_metric_and_weights() -> None:
    _, found = measured(
        table().drop(columns=["sum", "odd"]), "kind", metric="f1", class_weight="balanced"
    )
    assert next(iter(found.trees)) == "f1"
    assert found.trees["f1"] > 0.9 > found.trivial["f1"]
    assert found.linear["f1"] > found.trivial["f1"]


def test_few_rows_tell_nothing() -> None:
    assert yardstick(make_bundle(load_source(table(60), "odd"), 0), 0, None) is None


def test_a_result_has_a_yardstick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table().drop(columns=["sum", "kind"]).to_csv(tmp_path / "t.csv", index=False)
    short = "--epochs 1 --retrain-epochs 1 --retrain-seeds 1 --finalists 1 --scaling standard"
    line = ["search", str(tmp_path / "t.csv"), "--target", "odd", *short.split(), "--quiet"]
    with pytest.raises(SystemExit) as ended:
        main([*line, "--out", str(tmp_path / "run")])
    assert not ended.value.code
    found = json.loads((tmp_path / "run" / "result.json").read_text())["yardstick"]
    shown = " ".join(capsys.readouterr().out.split())
    assert f"boosted trees {found['trees']['accuracy']:.3f}" in shown
    assert "accuracy of a trivial guess 0." in shown
    page = report_page(tmp_path / "run")
    assert "Yardstick" in page
    assert "a linear model" in page
    seconds = json.loads((tmp_path / "run" / "result.json").read_text())["seconds"]
    assert seconds > json.loads((tmp_path / "run" / "yardstick.json").read_text())["seconds"] > 0


def test_an_estimator_has_none() -> None:
    reading = meritnas.TableReading(scaling="standard")
    retraining = meritnas.Retraining(epochs=1, finalists=1)
    frame = table(200)
    estimator = meritnas.NASRegressor(epochs=1, reading=reading, retraining=retraining)
    estimator.fit(frame[["a", "b"]], frame["sum"])
    assert "yardstick" not in estimator._summary
