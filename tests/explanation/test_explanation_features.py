from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import meritnas
from flat_search import train
from meritnas.cli.main import main
from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.explanation.features import feature_use
from meritnas.report.page.page import report_page


class Sum(nn.Module):
    """3 times the first input, plus the second, whatever the others are."""

    def forward(self, rows: Tensor) -> Tensor:
        return (3 * rows[:, 0] + rows[:, 1])[:, None]


def part(rows: int = 500) -> Part:
    inputs = torch.randn(rows, 4, generator=torch.Generator().manual_seed(0))
    return Part(inputs, Sum()(inputs)[:, 0])


PLACES = {"none": [2], "large": [0], "small": [1], "both": [0, 1], "nothing": [3]}


def test_a_column_is_worth_what_mixing_it_costs() -> None:
    task = Task("regression", "y")
    metric, score, rows, found = feature_use(Sum(), task, part(), PLACES)
    assert (metric, score, rows) == ("r2", pytest.approx(1), 500)
    worth = {one.column: one for one in found}
    assert [one.column for one in found[:3]] == ["both", "large", "small"]
    # A mixed column adds twice its variance to the error, of 10 in all.
    assert worth["large"].value == pytest.approx(2 * 9 / 10, rel=0.1)
    assert worth["small"].value == pytest.approx(2 * 1 / 10, rel=0.1)
    assert worth["both"].value == pytest.approx(2, rel=0.1)
    for one in found[:3]:
        assert 0 < one.low < one.value < one.high
    for name in ("none", "nothing"):
        assert (worth[name].value, worth[name].low, worth[name].high) == (0, 0, 0)
    assert feature_use(Sum(), task, part(), PLACES)[3] == found


def test_intervals_cover_what_more_rows_would_say() -> None:
    task = Task("regression", "y")
    few = {one.column: one for one in feature_use(Sum(), task, part(200), PLACES)[3]}
    wide = few["large"].high - few["large"].low
    assert few["large"].low < 1.8 < few["large"].high
    many = {one.column: one for one in feature_use(Sum(), task, part(2000), PLACES)[3]}
    assert many["large"].high - many["large"].low < 0.6 * wide


def test_a_metric_decides_what_worth_is() -> None:
    task = Task("regression", "y", scale=2.0, metric="mae")
    metric, score, _, found = feature_use(Sum(), task, part(), {"large": [0], "none": [2]})
    assert (metric, score) == ("mae", 0)
    rows = part().inputs[:, 0]
    order = torch.randperm(500, generator=torch.Generator().manual_seed(1))
    expected = float((3 * (rows - rows[order])).abs().mean()) * 2
    assert found[0].value == pytest.approx(expected, rel=0.1)


def test_a_given_network_of_a_table_has_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    frame["day"] = pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d")
    frame.loc[::7, "a"] = None
    frame["y"] = np.where(frame["a"].fillna(2) + 0.1 * rng.normal(size=300) > 0, "up", "down")
    frame.to_csv(tmp_path / "t.csv", index=False)
    run = tmp_path / "run"
    train(str(tmp_path / "t.csv"), "y", architecture="16", epochs=30, seeds=1, layers=1, out=run)
    for flags, code in (((), 2), (("--features",), 0), (("--features", "--json"), 0)):
        with pytest.raises(SystemExit) as ended:
            main(["explain", str(run), *flags, "--quiet"])
        assert (ended.value.code or 0) == code
        shown = capsys.readouterr()
        assert code == 0 or f"meritnas explain {run} --features" in shown.err
    told = json.loads(shown.out)
    assert {row["column"] for row in told["features"]} == {"a", "b", "day"}
    assert told["features"][0]["column"] == "a"
    assert told["features"][0]["low"] > 0.1
    found = meritnas.explain_features(run)
    assert [row["value"] for row in told["features"]] == [one.value for one in found.features]
    kept = pd.read_csv(run / "features.csv")
    np.testing.assert_allclose(kept["value"], found.table()["value"])
    assert "95 % interval" in report_page(run)
    weights = run / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b" ")
    assert "95 % interval" not in report_page(run)
