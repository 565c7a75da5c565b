from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_exporting_python import run_elsewhere
from torch import Tensor, nn

import meritnas
from meritnas.errors import UsageError
from meritnas.families.family import Family, seeded
from meritnas.families.fusion.family import FusionSpace, fusion_space
from meritnas.families.fusion.joint import JointSpace, joint_space
from meritnas.families.fusion.operations import EVERY
from meritnas.families.tabular.family import TabularSpace

CLASSES = {
    "sum": "Sum",
    "glu": "Gated",
    "concat": "Joined",
    "se": "SqueezeExcite",
    "sparse_attention": "Attention",
    "sparse_glu": "Gated",
    "sparse_concat": "Joined",
    "sparse_se": "SqueezeExcite",
    "attention": "Attention",
    "bm_glu": "GatedTogether",
}
ODD = '"""\\N{x} #'
"""A name that ends a docstring, is no escape and begins a comment."""


def space(**sizes: Any) -> FusionSpace:
    """A picture with a backbone, a sequence beside a vector, a picture without, a vector."""
    given: dict[str, Any] = {
        "modalities": {
            "image": [(2, 9, 7)],
            "video": [(5, 7), (3,)],
            "map": [(3, 5, 4)],
            "table": [(6,)],
        },
        "backbones": {"image": "conv"},
        "operations": EVERY,
        **{"outputs": 3, "cells": 1, "channels": 10, "length": 6},
        **sizes,
    }
    return fusion_space(**given)


def cases() -> dict[str, tuple[FusionSpace | JointSpace, str]]:
    one = {
        name: (space(), f"cell1(video.0, image.1): step1 = {name}(y, x)")
        for name in sorted(CLASSES)
    }
    steps = (
        "cell1(table.0, image.0): step1 = sparse_concat(y, x); step2 = sum(step1, x) + "
        "cell2(cell1, map.0): step1 = attention(x, y); step2 = bm_glu(y, step1)"
    )
    earlier_first = (
        "cell1(image.0, video.1): step1 = glu(x, y); step2 = concat(y, step1) + "
        "cell2(map.0, cell1): step1 = se(x, y); step2 = sum(x, step1)"
    )
    sparse = (
        "cell1(map.0, table.0): step1 = sparse_se(y, x); step2 = sparse_attention(step1, x); "
        "step3 = sparse_glu(y, step2)"
    )
    long = " + ".join(
        f"cell{k}(video.0, {'video.1' if k == 1 else f'cell{k - 1}'}): "
        + "; ".join(f"step{s} = sum(x, y)" for s in range(1, 13))
        for k in range(1, 13)
    )
    odd = {ODD: [(4,)], "\N{GREEK SMALL LETTER MU} 'l' " + "y" * 60: [(2, 3)]}
    names = list(odd)
    return {
        **one,
        "steps": (space(cells=2, steps=2), steps),
        "shared": (space(cells=2, steps=2, shared=True), earlier_first),
        "long atoms": (space(steps=3, kernel=3, l1=0.02, l2=0.3), sparse),
        "only long atoms": (
            space(kernel=5, l1=0.02),
            "cell1(map.0, table.0): step1 = sparse_glu(y, x)",
        ),
        "one position": (
            space(steps=2, kernel=3, length=1),
            "cell1(map.0, table.0): step1 = sparse_concat(x, y); "
            "step2 = sparse_attention(x, step1)",
        ),
        "heads": (
            joint_space(space(), (5, 9)),
            "cell1(video.0, image.1): step1 = se(y, x) + mean-each(image: 5, table: 9, all=5)",
        ),
        "heads alone": (joint_space(space(), (5, 9)), "sum(image: 5, video: 9)"),
        "many": (space(cells=12, steps=12, channels=2), long),
        "odd names": (
            space(modalities=odd, backbones={}),
            f"cell1({names[1]}.0, {names[0]}.0): step1 = glu(x, y)",
        ),
    }


CASES = cases()


def shaken(child: nn.Module) -> nn.Module:
    """The child with weights and statistics of which none is 0, 1 or another's."""
    with seeded(1), torch.no_grad():
        for name, value in child.state_dict().items():
            if name.endswith("running_var"):
                value.uniform_(0.5, 2)
            elif value.is_floating_point():
                value.normal_(0.1, 0.5)
    return child.eval()


def rows_of(family: FusionSpace | JointSpace) -> Tensor:
    """Samples that have all, and samples that lack each modality, with rubbish in its place."""
    layout = family.layout
    with seeded(2):
        rows = torch.rand(6 * (1 + len(layout.names)), layout.width)
    for number in range(len(layout.names)):
        rows[:, layout.flag(number)] = 1
        lacking = slice(6 * (number + 1), 6 * (number + 2))
        rows[lacking, layout.values(number)] = torch.nan
        rows[lacking, layout.flag(number)] = 0
    return rows


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for every case with what its file made of the rows where meritnas is not."""
    folder = tmp_path_factory.mktemp("fusion")
    for name, (family, text) in CASES.items():
        own = folder / name
        own.mkdir()
        child = shaken(family.child(text))
        (own / "model.py").write_text(family.source(text), encoding="utf-8")
        save_file(child.state_dict(), own / "weights.safetensors")
        save_file({"inputs": rows_of(family)}, own / "inputs.safetensors")
    run_elsewhere(folder, CASES)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_the_file_says_what_the_child_says(written: Path, name: str) -> None:
    family, text = CASES[name]
    child, rows = shaken(family.child(text)), rows_of(family)
    with torch.no_grad():
        expected = child(rows)
    assert expected.isfinite().all()
    assert expected[:6].std(dim=0).min() > 1e-3  # rows differ, so that inputs matter
    found = load_file(written / name / "found")["found"]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_every_operation_has_a_class() -> None:
    assert set(CLASSES) == set(EVERY)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_only_what_is_used_is_written(written: Path, name: str) -> None:
    source = (written / name / "model.py").read_text()
    made = {other for other in CLASSES.values() if f"class {other}(" in source}
    assert made == {CLASSES[name]}
    assert ("SparseCoding" in source) == name.startswith("sparse_")
    assert ("SparseMap" in source) == (name in ("sparse_glu", "sparse_concat", "sparse_se"))
    assert "def ista" not in source
    assert "def objective" not in source
    assert "class Convolutions" in source


def test_a_file_for_vectors_has_no_backbone_for_pictures() -> None:
    plain = space(modalities={"a": [(4,)], "b": [(3,)]}, backbones={})
    short = plain.source("cell1(a.0, b.0): step1 = sum(x, y)")
    for part in ("Convolutions", '"conv"', "SparseCoding"):
        assert part not in short
    assert "class Reshape" in short


def test_the_file_says_which_columns_are_whose(written: Path) -> None:
    source = (written / "sum" / "model.py").read_text()
    layout = space().layout
    for said in (
        "image: 0 says whether it is there, 1 to 126 are (2, 9, 7)\n",
        "video: 127 says whether it is there, 128 to 162 are (5, 7), 163 to 165 are (3,)\n",
        "map: 166 says whether it is there, 167 to 226 are (3, 5, 4)\n",
        "table: 227 says whether it is there, 228 to 233 are (6,)\n",
    ):
        assert f"    {said}" in source
    assert [layout.flag(number) for number in range(4)] == [0, 127, 166, 227]
    assert layout.width == 234


def test_layers_that_no_cell_reads_are_made_and_not_run(written: Path) -> None:
    source = (written / "sum" / "model.py").read_text()
    said = source.partition("Layers that are made and not run, as no cell reads them:")[2]
    listed = [line.strip() for line in said.partition('"""')[0].splitlines() if line.strip()]
    assert listed == ["image.0", "video.1", "map.0", "table.0"]
    names: dict[str, Any] = {"__name__": "model"}
    exec(source, names)
    network, run = names["Network"]().eval(), set[int]()
    for number, layer in enumerate(network.reader.reshapes):
        layer.register_forward_hook(lambda *_, number=number: run.add(number))
    with torch.no_grad():
        network(rows_of(space()))
    assert run == {1, 2}


def test_the_file_is_formatted(written: Path) -> None:
    files = [str(written / name / "model.py") for name in CASES if name != "odd names"]
    outcome = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "format", "--isolated", "--check"),
            *("--line-length", "100", *files),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout


def test_gradients_are_the_childs(written: Path) -> None:
    family, text = CASES["long atoms"]
    child, rows = shaken(family.child(text)), rows_of(family)
    names: dict[str, Any] = {"__name__": "model"}
    exec((written / "long atoms" / "model.py").read_text(), names)
    network = names["Network"]().eval()
    network.load_state_dict(child.state_dict())
    for each in (child, network):
        each(rows).square().sum().backward()
    wanted = dict(child.named_parameters())
    for name, weight in network.named_parameters():
        torch.testing.assert_close(weight.grad, wanted[name].grad, atol=1e-3, rtol=1e-3)


def test_a_backbone_of_ones_own_is_refused() -> None:
    own = space(backbones={"table": lambda: nn.Linear(6, 4)})
    with pytest.raises(UsageError, match=r"backbone of 'table' .* --to onnx or --to torch-export"):
        own.source("cell1(video.0, table.0): step1 = sum(x, y)")


def test_a_space_of_ones_own_is_refused() -> None:
    class Own(TabularSpace):
        source = Family.source

    own = Own(meritnas.TableInputs(4), 2, ((2,),))
    with pytest.raises(UsageError, match=r"space of your own .* --to onnx"):
        own.source("2")
