from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import meritnas
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.new_samples import load_views
from meritnas.exporting.export import export
from meritnas.families.family import seeded

BLOCK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "meritnas":
            raise ImportError("meritnas is not here")

sys.meta_path.insert(0, Refuse())
"""
STRANGER = """
import importlib.util, json, sys
from pathlib import Path
import torch
from safetensors.torch import load_file, save_file

try:
    import meritnas
    raise SystemExit("meritnas can be imported, so that this proves nothing")
except ImportError:
    pass
for folder in map(Path, sys.argv[1:]):
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with torch.no_grad():
        found = module.load()(load_file(folder / "inputs.safetensors")["inputs"])
    save_file({"found": found[0] if isinstance(found, tuple) else found}, folder / "found")
"""
GENOTYPE = (
    "Genotype(normal=[('sep_conv_3x3', 0), ('dil_conv_5x5', 1), ('skip_connect', 0), "
    "('max_pool_3x3', 1), ('avg_pool_3x3', 0), ('dil_conv_3x3', 2), ('sep_conv_5x5', 0), "
    "('skip_connect', 1)], normal_concat=[2, 3, 4, 5], reduce=[('skip_connect', 0), "
    "('max_pool_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 2), ('avg_pool_3x3', 0), "
    "('dil_conv_3x3', 2), ('dil_conv_5x5', 0), ('sep_conv_5x5', 1)], "
    "reduce_concat=[2, 3, 4, 5])"
)


def run_elsewhere(folder: Path, names: Iterable[str]) -> None:
    """Run `model.py` in each of these folders on its inputs, in a Python without meritnas."""
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(BLOCK)
    subprocess.run(
        [sys.executable, "-c", STRANGER, *(str(folder / name) for name in names)],
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "block"), "OMP_NUM_THREADS": "1"},
    )


def test_the_file_runs_where_meritnas_is_not(
    table_run: Path,
    number_run: Path,
    image_run: Path,
    text_run: Path,
    fusion_run: Path,
    frame: pd.DataFrame,
    pixels: np.ndarray,
    views: dict[str, np.ndarray],
    tmp_path: Path,
) -> None:
    runs = {
        "table": table_run,
        "number": number_run,
        "image": image_run,
        "text": text_run,
        "fusion": fusion_run,
    }
    expected = {}
    for kind, run in runs.items():
        files = export(run, "python", tmp_path / kind)
        assert [path.name for path in files] == [
            "model.py",
            "weights.safetensors",
            "preprocessing.json",
            "README.md",
            "predict.py",
            "encoder.json",
        ]
        predictor = meritnas.load_predictor(run)
        inputs = torch.randn(5, 10)
        if isinstance(predictor.encoder, TableEncoder) and kind == "table":
            inputs = torch.from_numpy(predictor.encoder.transform(frame))
        elif isinstance(predictor.encoder, ImageEncoder):
            inputs = predictor.encoder.transform(pixels).contiguous()
        elif kind == "text":
            inputs = torch.randint(11, (3, 8))
        elif isinstance(predictor.encoder, ModalityEncoder):
            inputs = predictor.encoder.transform(load_views(views, predictor.encoder.columns))
            assert len(inputs[:, predictor.encoder.layout.flag(1)].unique()) == 2
        predictor.module.eval()
        with torch.no_grad():
            expected[kind] = predictor.module(inputs)
        save_file({"inputs": inputs}, tmp_path / kind / "inputs.safetensors")
    run_elsewhere(tmp_path, runs)
    for kind in runs:
        found = load_file(tmp_path / kind / "found")["found"]
        torch.testing.assert_close(found, expected[kind], atol=1e-6, rtol=1e-6)
        source = (tmp_path / kind / "model.py").read_text()
        assert "import meritnas" not in source
        assert "from meritnas" not in source
    assert "ReluConvNorm" in (tmp_path / "image" / "model.py").read_text()
    assert "SeparableConv" not in (tmp_path / "image" / "model.py").read_text()


def built(source: str) -> nn.Module:
    names: dict[str, Any] = {"__name__": "model"}
    exec(source, names)
    return names["Network"]()


def assert_same(child: nn.Module, source: str, inputs: torch.Tensor) -> None:
    """The source makes a network with the child's names that says what the child says."""
    network = built(source)
    assert list(network.state_dict()) == list(child.state_dict()) != []
    network.load_state_dict(child.state_dict())
    with torch.no_grad():
        for part in child.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.uniform_(-1, 1)  # type: ignore[union-attr]
                part.weight.uniform_(0.5, 2)
    network.load_state_dict(child.state_dict())
    network.eval()
    child.eval()
    with torch.no_grad(), seeded(0):
        expected = child(inputs)
    with torch.no_grad(), seeded(0):
        found = network(inputs)
    found = found[0] if isinstance(found, tuple) else found
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_cells_of_nasbench201(seed: int) -> None:
    space = meritnas.nasbench201_space(3, channels=4, cells=2, image=(3, 9, 8))
    found = space.space.random(seed)
    assert_same(space.child(found), space.source(found), torch.randn(2, 3, 9, 8))


def test_a_cell_of_nothing_and_one_of_skips() -> None:
    space = meritnas.nasbench201_space(3, channels=4, cells=1, image=(1, 8, 8))
    for name in ("none", "skip_connect"):
        text = f"|{name}~0|+|{name}~0|{name}~1|+|{name}~0|{name}~1|{name}~2|"
        assert_same(space.child(text), space.source(text), torch.randn(2, 1, 8, 8))


@pytest.mark.parametrize("variant", [None, "s4", "unique"])
@pytest.mark.parametrize("stem", ["cifar", "imagenet"])
def test_cells_of_darts(variant: str | None, stem: str) -> None:
    space = meritnas.darts_space(3, 4, 4, variant, (3, 17, 16), stem)  # type: ignore[arg-type]
    texts: Sequence[str] = [space.space.random(seed).text for seed in range(2)]
    for text in texts if variant else [GENOTYPE, *texts]:
        found = space.parse(text)
        assert_same(space.child(found), space.source(found), torch.randn(2, 3, 17, 16))


@pytest.mark.parametrize("predecessors", [None, 1])
def test_recurrent_cells(predecessors: int | None) -> None:
    space = meritnas.recurrent_space(9, 5, 4, predecessors)
    cells = [space.space.random(seed) for seed in range(4)]
    for found in (*cells, space.parse("gru"), space.parse("lstm")):
        child = space.child(found)
        with torch.no_grad():
            for weight in child.parameters():
                weight.mul_(10)  # away from where all activations are alike
        assert_same(child, space.source(found), torch.randint(9, (3, 7)))


@pytest.mark.parametrize("found", ["|tanh~0|+|relu~0|sigmoid~1|", "gru", "lstm"])
def test_a_language_model_goes_on_from_a_state(found: str) -> None:
    space = meritnas.recurrent_space(9, 5, 2)
    child, network = space.child(found), built(space.source(found))
    network.load_state_dict(child.state_dict())
    words = torch.randint(9, (3, 8))
    first, state = network(words[:, :3])
    rest, _ = network(words[:, 3:], state)
    torch.testing.assert_close(torch.cat([first, rest], dim=1), child.eval()(words))
    assert f"State [n, {state.shape[1]}] is" in space.source(found)


def test_only_the_known_cell_that_a_model_has_is_written() -> None:
    source = meritnas.recurrent_space(9, 5).source("gru")
    assert "def run_gru(" in source
    assert "def run_lstm(" not in source
    assert '"lstm"' not in source


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_what_training_leaves_out_is_no_part_of_the_file(dropout: float) -> None:
    space = meritnas.tabular_space(meritnas.TableInputs(2, (5, 3)), 2, 2, (4, 8))
    child = space.child("8-4", seed=1, dropout=dropout)
    rows = torch.cat([torch.randn(6, 2), torch.randint(3, (6, 2)).float()], dim=1)
    assert_same(child, space.source("8-4"), rows)
    assert "Dropout" not in space.source("8-4")
    assert "EmbedTable" in space.source("8-4")
    assert "EmbedTable" not in meritnas.tabular_space(3, 2, 1, (4,)).source("4")


def test_only_operations_that_a_cell_has_are_written() -> None:
    space = meritnas.darts_space(3, 4, 4, "s2", (3, 16, 16))
    source = space.source(space.random(0))
    assert "class SeparableConv(" in source
    assert "class Noise(" not in source
    assert "dil_conv" not in source
    assert "auxiliary_head" not in source


def test_the_file_is_formatted(
    table_run: Path, image_run: Path, text_run: Path, fusion_run: Path, tmp_path: Path
) -> None:
    space = meritnas.darts_space(3, 4, 3, "unique", (3, 8, 8))
    (tmp_path / "darts.py").write_text(space.source(space.random(0)))
    files = [
        export(run, "python", tmp_path / run.parent.name)[0]
        for run in (table_run, image_run, text_run, fusion_run)
    ]
    outcome = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "format", "--isolated", "--check"),
            *("--line-length", "100", str(tmp_path / "darts.py"), *map(str, files)),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout


def test_weights_have_the_childs_names(table_run: Path, tmp_path: Path) -> None:
    from safetensors import safe_open

    _, weights, about, *_ = export(table_run, "python", tmp_path)
    module = meritnas.load_predictor(table_run).module
    with safe_open(weights, framework="pt") as file:
        assert set(file.keys()) == set(module.state_dict())
        architecture = file.metadata()["architecture"]
    assert json.loads(about.read_text())["architecture"] == architecture


def test_a_network_of_a_build_function_finds_the_weights_beside_it(tmp_path: Path) -> None:
    space = meritnas.Residual(blocks=1, widths=(4, 8))
    text = "4-1-8"
    run = tmp_path / "run"
    meritnas.train("wine", space=space, architecture=text, epochs=1, seeds=1, out=run)
    for name, quantize in (("plain", None), ("small", "int8")):
        export(run, "python", tmp_path / name, quantize=quantize)
        names: dict[str, Any] = {"__name__": "model", "__file__": str(tmp_path / name / "model.py")}
        exec((tmp_path / name / "model.py").read_text(), names)
        found, rows = names["load"](), torch.randn(5, 13)
        own = meritnas.load_predictor(run).module.eval()
        off = (found(rows) - own(rows)).abs().max()
        assert off < (1e-6 if quantize is None else 0.1)
