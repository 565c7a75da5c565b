from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from meritnas.data.bundled import BUNDLED
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.source import load_source
from meritnas.errors import DataError


def table(n: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "row": np.arange(n) * 1.0})
    frame["kind"] = rng.choice(["p", "q", "r"], size=n)
    frame["y"] = np.where(frame["x"] > 0, "up", "down")
    return frame


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data(name: str) -> None:
    source = load_source(name, None)
    bundle = make_bundle(source, seed=0)
    encoder = bundle.encoder
    for part in (bundle.train, bundle.valid, bundle.test):
        assert part.inputs.dtype == torch.float32
        assert part.inputs.shape == (len(part), encoder.numbers + len(encoder.cardinalities))
        assert part.inputs.isfinite().all()
        assert part.target.shape == (len(part),)
        outputs = torch.zeros(len(part), bundle.task.outputs)
        assert bundle.task.loss(outputs, part.target).isfinite()
    assert len(bundle.train) + len(bundle.valid) + len(bundle.test) == len(source.frame)
    assert bundle.name == name


def test_statistics_come_from_the_train_rows_only() -> None:
    frame = table().drop(columns="y").rename(columns={"x": "y"})
    source = load_source(frame, "y")
    bundle = make_bundle(source, seed=3)
    assert bundle.train.target.mean().item() == pytest.approx(0, abs=1e-6)
    assert bundle.train.target.std(unbiased=False).item() == pytest.approx(1, rel=1e-5)
    assert abs(bundle.test.target.mean().item()) > 1e-4
    numbers = bundle.train.inputs[:, : bundle.encoder.numbers]
    assert torch.allclose(numbers.mean(0), torch.zeros(numbers.shape[1]), atol=1e-6)
    assert bundle.valid.inputs[:, 0].mean().abs().item() > 1e-4


def test_inputs_and_targets_belong_to_the_same_rows() -> None:
    bundle = make_bundle(load_source(table(), "y"), seed=1)
    x = bundle.encoder.number_columns[0]
    for part in (bundle.train, bundle.valid, bundle.test):
        restored = part.inputs[:, 0].double() * x.scale + x.mean
        assert torch.equal((restored > 0).float(), part.target)


def test_the_target_is_not_an_input() -> None:
    encoder = make_bundle(load_source(table(), "y"), seed=1).encoder
    names = {c.name for c in (*encoder.number_columns, *encoder.category_columns)}
    assert names == {"x", "row", "kind"}


def test_the_seed_decides() -> None:
    source = load_source(table(), "y")
    first, same, other = (make_bundle(source, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.train.inputs, same.train.inputs)
    assert not torch.equal(first.train.inputs, other.train.inputs)


def test_forced_kind_and_new_file(tmp_path: Path) -> None:
    frame = table().assign(y=np.arange(100) % 4)
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = load_source(tmp_path / "t.csv", "y")
    assert make_bundle(source, 0).task.kind == "multiclass"
    bundle = make_bundle(source, 0, kind="regression")
    assert bundle.task.kind == "regression"
    assert bundle.train.target.dtype == torch.float32


def test_part_moves_between_devices() -> None:
    part = make_bundle(load_source(table(), "y"), seed=1).valid.to("meta")
    assert part.inputs.device.type == part.target.device.type == "meta"


def test_too_few_rows() -> None:
    with pytest.raises(DataError, match="rows are too few"):
        make_bundle(load_source(table().iloc[:8].assign(y=["a", "b"] * 4), "y"), 0)
