from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from meritnas import Retraining, RunOptions, Tabular, Training, resume, search
from meritnas.devices.precision import check_precision, computing_in, single
from meritnas.engine import loop
from meritnas.errors import UsageError
from meritnas.prepare.config import settings_of
from meritnas.result import SearchResult


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame["kind"] = np.where(frame.a * frame.b > 0, "p", "q")
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    frame.to_csv(path, index=False)
    return path


def found(rows: Path, out: Path, precision: Any, listen: Any = None) -> SearchResult:
    return search(
        rows,
        "kind",
        space=Tabular(layers=2, widths=(4, 8)),
        epochs=4,
        training=Training(batch_size=16, precision=precision),
        retraining=Retraining(epochs=2, seeds=1, finalists=1, plain=False, dropout=0.0),
        run=RunOptions(threads=1),
        workers=2,
        out=out,
        **({} if listen is None else {"listen": listen}),
    )


def losses(run: Path) -> list[Any]:
    lines = map(json.loads, (run / "events.jsonl").read_text().splitlines())
    return [line["train_loss"] for line in lines if "train_loss" in line]


def weights(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()


def test_a_search_in_half_precision_is_kept_repeated_and_resumed(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meritnas.run.local_ranks.cores", lambda: 1)
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    usual, half = tmp_path / "usual", tmp_path / "half"
    found(rows, usual, None)
    found(rows, half, "bf16")
    assert losses(half) != losses(usual)
    assert losses(half) == pytest.approx(losses(usual), rel=0.05)
    assert weights(half) != weights(usual)

    def pressed(event: dict[str, Any]) -> None:
        if event["kind"] == "search" and event["step"] > 10:
            raise KeyboardInterrupt

    again = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        found(rows, again, "bf16", pressed)
    assert not (again / "architecture.json").exists()
    resume(again)
    assert weights(again) == weights(half)
    assert losses(again) == losses(half)

    config = json.loads((half / "config.json").read_text())
    assert config["settings"]["recipe"]["precision"] == "bf16"
    assert settings_of(config).recipe.precision == "bf16"
    del config["settings"]["recipe"]["precision"]  # as runs of earlier versions are
    assert settings_of(config).recipe.precision == "float32"


def test_products_are_halved_and_what_leaves_is_single() -> None:
    inputs, layer = torch.randn(4, 3), nn.Linear(3, 2)
    with computing_in("bf16", inputs):
        outputs = layer(inputs)
    assert outputs.dtype == torch.bfloat16
    assert single(outputs).dtype == torch.float32
    with computing_in("float32", inputs):
        outputs = layer(inputs.double().float())
    assert single(outputs) is outputs
    assert single(outputs.double()).dtype == torch.float64


def test_precisions_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="precision must be one of float32, bf16, got 'fp8'"):
        Training(precision="fp8")  # type: ignore[arg-type]
    check_precision("bf16", "cpu")
    check_precision("float32", "meta")
    with pytest.raises(UsageError, match="bf16 is not to be had on device 'meta'; leave it out"):
        check_precision("bf16", "meta")
