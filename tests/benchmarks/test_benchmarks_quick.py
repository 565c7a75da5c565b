from __future__ import annotations

import importlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch import nn

FOLDER = Path(__file__).parents[2] / "benchmarks"
CIFAR = ["--images", "images.npz", "--table", "table.csv"]
ARGUMENTS = {
    "advantage_toy": ["--figure", "toy.png"],
    "code_shape": [str(FOLDER)],
    "crash": [],
    "tables": [],
    "tabnas_ablation": [
        *["wine", "--max-params", "150", "--widths", "2,4,8"],
        *["--ground", "ground.json", "--figures", "figures"],
    ],
    "tabnas_toy": ["--steps", "40"],
    "feasible": [],
    "large_tables": [],
    "manas_regret": ["--figure", "regret.png"],
    "manas_images": ["digits"],
    "manas_memory": [],
    "memory_and_speed": [],
    "messy_columns": ["--rows", "120"],
    "multimodal": ["--mfeat", "views.npz", "--seeds", "0"],
    "robust": ["--mfeat", "views.npz", "--seeds", "0"],
    "nasbench201": [
        *[*CIFAR, "--batch", "4", "--seeds", "0", "--size", "8"],
        *["--strategies", "advantage,random,shapley,manas-ls", "--no-zero"],
    ],
    "nasbench201_limits": [*CIFAR, "--seeds", "0", "--size", "8", "--strategies", "advantage"],
    "witnesses": [*CIFAR, "--size", "8"],
    "convnet_witnesses": ["images.npz", "--max-params", "5k"],
    "unique_witnesses": ["digits"],
    "credit_fidelity": [*CIFAR, "--seeds", "0", "--figure", "fidelity.png"],
    "plain": ["wine", "--limits", "2k"],
    "recurrent_search": ["book.txt", "--figure", "cells.png"],
    "recurrent_speed": [],
    "scale": [],
    "own_costs": [],
    "pruning": ["digits"],
    "own_step": [],
    "executor": ["wine"],
    "exports": ["wine"],
    "int8": ["wine"],
    "c_export": ["wine", "--layouts", "1"],
    "shapley_ablation": [*CIFAR, "--seeds", "0", "--data", "images.npz"],
    "shapley_long": [*CIFAR, "--out", "runs", "--spaces", "nasbench201"],
    "shapley_speed": [],
    "shapley_variance": [],
    "sparse_codes": [],
    "tabular_step": [],
    "teachers": ["wine:target:2000"],
    "startup": [],
    "table_spaces": ["wine:target:2000"],
    "tabular_peers": ["wine:target:2000"],
    "tabular_quality": ["wine", "--max-params", "2000", "--strategies", "tabnas,evolution"],
}

ROWS = {
    "manas_memory": {"strategy", "cells", "saved_mb", "peak_mb"},
    "manas_regret": {"method", "sequence", "rounds", "regret", "bound"},
    "multimodal": {"data", "method", "seed", "noise", "score", "params", "seconds"},
}
"""What every row says, where others read it."""


def test_every_benchmark_has_a_quick_run() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"scoreboard"}
    assert scripts == set(ARGUMENTS)


def write_images_and_table(folder: Path) -> None:
    """Noise in ten classes, and made-up accuracies for every network that can be found."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (40, 32, 32, 3), dtype=np.uint8)
    np.savez(folder / "images.npz", images=images, labels=np.arange(40) % 10)
    operations = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    lines = ["arch_str,cifar10valid_val_200,cifar10_test_200"]
    for a, b, c, d, e, f in itertools.product(operations, repeat=6):
        lines.append(f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|,90.5,91.5")
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_quick_run_gives_a_table_and_rows(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process: loading torch anew would take longer than most of them."""
    if name == "pruning":
        pytest.importorskip("torch_pruning", reason="the extra [peers] is not installed")
    if "images.npz" in ARGUMENTS[name]:
        write_images_and_table(tmp_path)
    (tmp_path / "book.txt").write_text("He came, he saw, and he left again.\n" * 100)
    labels = np.arange(120) % 3
    views = {"one": np.random.default_rng(0).random((120, 3)), "two": labels[:, None] / 2}
    np.savez(tmp_path / "views.npz", **views, label=labels)
    rows = tmp_path / "rows.json"
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *ARGUMENTS[name], "--quick", "--json", str(rows)])
    assert importlib.import_module(name).main() == 0
    assert "no target judged" in capsys.readouterr().out
    found = json.loads(rows.read_text())
    assert found
    assert all(isinstance(row, dict) and row for row in found)
    assert all(row.keys() >= ROWS.get(name, set()) for row in found)


def test_a_script_runs_by_itself(tmp_path: Path) -> None:
    """As those do that measure memory, with a process for each case."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / "memory_and_speed.py"), "--quick", "--case", "child"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["case"] == "child"
    assert min(found["saved"]) > 0


def test_a_sweep_of_fusion_networks_asks_for_its_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", ["multimodal", "--sweep", "sparsity", "--spoken", "some.npz"])
    with pytest.raises(SystemExit):
        importlib.import_module("multimodal").main()
    assert "name their file with --mfeat" in capsys.readouterr().err


@pytest.mark.parametrize("params", [40, 45, 54, 1003])
def test_networks_of_equal_size_are_as_wide_as_fits(
    params: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    of_size = importlib.import_module("multimodal").of_size
    found = of_size(lambda width: nn.Linear(8, width), params)
    assert found.out_features == max(4, params // 9)
