from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_helpers import SHORT, run

import meritnas
from meritnas import Retraining, Tabular

SIZES = ["--channels", "4", "--cells", "1", "--supernet-channels", "4", "--supernet-cells", "1"]
CELLS = ["--space", "nasbench201", *SIZES]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a trade-off curve; not to be changed."""
    folder = tmp_path_factory.mktemp("page") / "run"
    limits = ["--max-params", "900", "--max-flops", "800", "--pareto"]
    run("search", "wine", *limits, "--widths", "8,16,32", *SHORT, "--quiet", "--out", folder)
    return folder


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of cells on a few small images; not to be changed."""
    folder = tmp_path_factory.mktemp("cells")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (60, 8, 8), dtype=np.uint8)
    np.savez(folder / "images.npz", images=images, labels=np.arange(60) % 2)
    own = [*CELLS, *SHORT, "--no-plain", "--quiet"]
    run("search", folder / "images.npz", *own, "--out", folder / "run")
    return folder / "run"


@pytest.fixture(scope="session")
def fusion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on two modalities that has been explained; not to be changed."""
    folder = tmp_path_factory.mktemp("fusion")
    rng = np.random.default_rng(0)
    views = {name: rng.normal(size=(80, 4)).astype(np.float32) for name in ("left", "right")}
    np.savez(folder / "views.npz", **views, label=np.arange(80) % 2)
    own = ["--target", "label", "--space", "fusion", "--channels", "4", "--length", "2"]
    own += [*SHORT, "--no-plain", "--quiet"]
    run("search", folder / "views.npz", *own, "--out", folder / "run")
    run("explain", folder / "run", "--modalities", "--json")
    return folder / "run"


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a text, explained; not to be changed."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "words.txt").write_text("\n".join(["the cat sat on the mat and ran"] * 120))
    own = ["--space", "recurrent", "--width", "8", "--nodes", "2"]
    run("search", folder / "words.txt", *own, *SHORT, "--quiet", "--out", folder / "run")
    run("explain", folder / "run", "--json")
    return folder / "run"


@pytest.fixture(scope="session")
def darts(cells: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of DARTS' cells on the images of another one; not to be changed."""
    folder = tmp_path_factory.mktemp("darts") / "run"
    own = ["--space", "darts", "--channels", "4", "--cells", "3"]
    own += ["--supernet-channels", "4", "--supernet-cells", "3"]
    run("search", cells.parent / "images.npz", *own, *SHORT, "--quiet", "--out", folder)
    return folder


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a number to predict, of one epoch; not to be changed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "<i>c"])
    frame["y"] = frame["a"] * 100 + 500
    folder = tmp_path_factory.mktemp("numbers") / "run"
    space = Tabular(widths=(4, 8))
    shortest = Retraining(epochs=1, seeds=1, finalists=1, plain=False)
    meritnas.search(frame, "y", space=space, epochs=1, retraining=shortest, out=folder)
    return folder
