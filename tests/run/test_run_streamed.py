"""A search on rows that are streamed finds what one on the same rows in memory does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

import meritnas as mn
from meritnas.data import stream
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.tables import plan
from meritnas.data.tables.streamed import StreamedRows

SETTINGS: dict[str, Any] = {
    "space": mn.Tabular(layers=2, widths=(4, 8, 12)),
    "max_params": 600,
    "epochs": 2,
    "training": mn.Training(batch_size=32),
    "retraining": mn.Retraining(epochs=2, seeds=1, finalists=1, dropout=0.0),
    "run": mn.RunOptions(threads=1),
}


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{i}": rng.normal(size=1200) for i in range(3)})
    frame["k"] = rng.choice(["a", "b", "c", None], 1200)
    frame.loc[rng.random(1200) < 0.1, "n1"] = np.nan
    frame["y"] = np.where((frame["n0"] > 0) ^ (frame["k"] == "a"), "yes", "no")
    frame.to_parquet(tmp_path / "sales.parquet", row_group_size=170)
    return tmp_path / "sales.parquet"


def search(path: Path, out: str, stream: bool, **more: Any) -> mn.SearchResult:
    reading = mn.TableReading(stream=stream, yardstick=False)
    return mn.search(path, "y", reading=reading, out=path.parent / out, **{**SETTINGS, **more})


def weights(found: mn.SearchResult) -> dict[str, torch.Tensor]:
    return load_file(Path(found.run) / "model.safetensors")


@pytest.mark.parametrize("strategy", ["tabnas", "darts"])
def test_the_same_rows_give_the_same_network(
    sales: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trials of scalings and retraining included; weights differ by rounding of the encoder."""
    streamed = search(sales, "streamed", True, strategy=strategy)
    monkeypatch.setattr(plan, "split_rows", lambda n, _, seed: HashedSplit(n, seed))
    whole = search(sales, "whole", False, strategy=strategy)
    assert streamed.architecture == whole.architecture
    assert streamed.test == pytest.approx(whole.test, abs=1e-4)
    assert weights(streamed).keys() == weights(whole).keys()
    for name, own in weights(streamed).items():
        assert torch.allclose(own, weights(whole)[name], atol=1e-3), name


def test_many_windows_are_read_anew_in_every_epoch(
    sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    window = StreamedRows.window

    def counted(self: StreamedRows, groups: Any) -> Any:
        read.extend(groups)
        return window(self, groups)

    monkeypatch.setattr(StreamedRows, "window", counted)
    monkeypatch.setattr(stream, "WINDOW", 200)
    shorter = {"epochs": 2, "retraining": mn.Retraining(epochs=3, seeds=1, finalists=1)}
    found = search(sales, "windows", True, strategy="random", **shorter)
    assert mn.resume(found.run).test == found.test
    assert len(mn.explain(found.run).parts) == 2
    assert found.test["accuracy"] > 0.5
    assert len(read) > 8 * 5  # groups, in every epoch anew
    assert set(read) == set(range(8))


def test_time_is_kept_where_reading_takes_time(sales: Path) -> None:
    settings = {**SETTINGS, "epochs": None, "minutes": 0.05}
    settings["retraining"] = mn.Retraining(seeds=1, finalists=1, dropout=0.0)
    reading = mn.TableReading(stream=True, scaling="standard", yardstick=False)
    found = mn.search(sales, "y", reading=reading, out=sales.parent / "timed", **settings)
    assert found.summary["seconds"] < 0.05 * 60 * 3
