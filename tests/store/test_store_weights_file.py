from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, save

from meritnas.store.weights_file import weights_bytes

WEIGHTS = {"a.weight": torch.arange(6.0).reshape(2, 3), "\u00e4": torch.tensor([7, 8])}
ABOUT = {f"key {k}": f'v\u00e4lue "{k}"\n' for k in range(7)}


def test_a_file_has_the_same_bytes_whenever_it_is_written(tmp_path: Path) -> None:
    files = {weights_bytes(WEIGHTS, ABOUT) for _ in range(20)}
    assert len(files) == 1
    # Without an order of their own seven keys come in another one nearly every time.
    assert len({save(WEIGHTS, ABOUT) for _ in range(20)}) > 1
    blob = files.pop()
    read = load(blob)
    assert all(torch.equal(read[name], value) for name, value in WEIGHTS.items())
    (tmp_path / "file").write_bytes(blob)
    with safe_open(tmp_path / "file", framework="pt") as file:
        assert file.metadata() == ABOUT


def test_one_entry_leaves_the_file_as_safetensors_writes_it() -> None:
    about = {"architecture": "16-8"}
    assert weights_bytes(WEIGHTS, about) == save(WEIGHTS, about)
