from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meritnas.exporting.export as export_module
from flat_search import search, train
from meritnas.exporting import measured_files
from meritnas.exporting.trained import Trained, load_trained
from meritnas.exporting.verify import verify
from meritnas.store.whole_files import write_together


@pytest.fixture(scope="session", autouse=True)
def _every_export_is_verified() -> Iterator[None]:
    """Whatever a test writes is counted again, as it stands there, before it goes on."""
    loaded: list[Trained] = []

    def loading(*arguments: Any) -> Trained:
        loaded.append(load_trained(*arguments))
        return loaded[-1]

    def writing(folder: Path, files: Mapping[str, bytes]) -> None:
        write_together(folder, files)
        trained = loaded[-1]
        params = trained.family.cost(trained.architecture, "params")
        paths = [folder / name for name in files if name.endswith((".onnx", ".pt2"))]
        for path in [p for p in paths if p.name != "raw.onnx"] + [folder] * ("model.py" in files):
            found = verify(path)
            counted = {check.cost: check.found for check in found.checks}
            assert found.kept, found
            # Graphs have norms as part of what is before them, and no layer that nobody reads.
            folded = path.suffix == ".onnx" or path.suffix == ".pt2"
            assert counted["params"] == params or (folded and 0 < counted["params"] < params), found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_module, "load_trained", loading)
        patch.setattr(export_module, "write_together", writing)
        patch.setattr(measured_files, "_ROUNDS", 1)
        yield


CELL = "|nor_conv_3x3~0|+|avg_pool_3x3~0|skip_connect~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"
WORDS = "|tanh~0|+|relu~0|sigmoid~1|+|identity~0|zero~1|tanh~2|"


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Every kind of column, with gaps: numbers, two values, dates, categories, truths."""
    rng, rows = np.random.default_rng(0), 120
    hours = pd.to_timedelta(rng.integers(0, 24 * 600, rows), unit="h")
    days = pd.to_timedelta(rng.integers(0, 600, rows), unit="D")
    found = pd.DataFrame(
        {
            "height": rng.normal(170, 10, rows).round(2),
            "income": rng.lognormal(10, 1, rows).round(2),
            "old": rng.integers(0, 2, rows),
            "city": rng.choice(["Bonn", "Rome", "Ulm"], rows),
            "shop": rng.choice(["a", "b", "c"], rows),
            "member": rng.choice(["true", "false"], rows),
            "day": (pd.Timestamp("2023-01-01") + hours).strftime("%Y-%m-%d %H:%M"),
            "seen": (pd.Timestamp("2020-01-01") + days).strftime("%Y-%m-%d"),
        }
    )
    for name in ("height", "city", "day"):
        found.loc[rng.random(rows) < 0.1, name] = None
    found["churn"] = np.where(found["income"] > 22_000, "yes", "no")
    return found


@pytest.fixture(scope="session")
def table_run(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes, numbers scaled by quantiles."""
    out = tmp_path_factory.mktemp("table") / "run"
    search(
        *(frame, "churn"),
        scaling="quantile",
        widths=[4, 8],
        layers=2,
        max_params=900,
        epochs=1,
        retrain_epochs=1,
        retrain_seeds=1,
        finalists=1,
        threads=1,
        out=out,
    )
    return out


@pytest.fixture(scope="session")
def curve_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Networks for a ladder of limits."""
    out = tmp_path_factory.mktemp("curve") / "run"
    search(
        "wine",
        pareto=True,
        max_params=250,
        widths=[2, 4, 8],
        layers=2,
        epochs=2,
        retrain_epochs=1,
        retrain_seeds=1,
        finalists=1,
        dropout=0.0,
        threads=1,
        out=out,
    )
    return out


@pytest.fixture(scope="session")
def number_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A number is predicted from numbers."""
    out = tmp_path_factory.mktemp("number") / "run"
    train("diabetes", architecture="8-16", layers=2, epochs=1, seeds=1, out=out)
    return out


@pytest.fixture(scope="session")
def pixels() -> np.ndarray:
    """Pictures of odd height."""
    return np.random.default_rng(0).integers(0, 256, (60, 9, 8, 3), dtype=np.uint8)


@pytest.fixture(scope="session")
def image_run(pixels: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of pictures."""
    out = tmp_path_factory.mktemp("image") / "run"
    size = {"space": "nasbench201", "channels": 4, "cells": 1}
    labels = np.arange(len(pixels)) % 3
    train((pixels, labels), architecture=CELL, epochs=1, seeds=1, out=out, **size)
    return out


@pytest.fixture(scope="session")
def views() -> dict[str, np.ndarray]:
    """Pictures and sounds; some samples have no sound."""
    rng = np.random.default_rng(0)
    found = {"picture": rng.random((60, 6, 6)), "sound": rng.normal(size=(60, 5))}
    found["sound"][::7] = np.nan
    return found


@pytest.fixture(scope="session")
def fusion_run(views: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of samples with two modalities."""
    folder = tmp_path_factory.mktemp("fusion")
    np.savez(folder / "views.npz", label=np.arange(60) % 3, **views)
    train(
        *(str(folder / "views.npz"), "label"),
        architecture="cell1(sound.0, picture.0): step1 = sparse_glu(y, x)",
        **{"space": "fusion", "cells": 1, "channels": 4, "length": 2, "epochs": 1, "seeds": 1},
        out=folder / "run",
    )
    return folder / "run"


@pytest.fixture(scope="session")
def text_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Language models: with every activation, a GRU and an LSTM."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(0)
    words = rng.choice(["the", "cat", "sat", "on", "a", "mat", "and", "dogs", "ran", "far"], 400)
    (folder / "book.txt").write_text(" ".join(words))
    size = {"space": "recurrent", "width": 6, "batch_size": 4, "window": 5}
    runs = {name: folder / name for name in ("cell", "gru", "lstm")}
    for name, run in runs.items():
        train(
            str(folder / "book.txt"),
            architecture=WORDS if name == "cell" else name,
            epochs=1,
            seeds=1,
            out=run,
            **size,
        )
    return runs


@pytest.fixture(scope="session")
def text_run(text_runs: dict[str, Path]) -> Path:
    """A language model with every activation."""
    return text_runs["cell"]
