from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import meritnas
from meritnas import SpaceError, TableInputs, UsageError
from meritnas.families.catalogue import (
    about,
    options_of,
    space_from_json,
    space_spec,
    space_specs,
)
from meritnas.families.darts.spec import Darts, DartsUnique
from meritnas.families.family import Family
from meritnas.families.fusion.spec import Fusion
from meritnas.families.nasbench201.spec import Nasbench201
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.tabular.spec import Tabular
from meritnas.plugins import Trust
from meritnas.settings.fields import settings_of
from meritnas.settings.preset import Facts
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.spec import SpaceSpec
from meritnas.supernet.supernet import module_of

RECORDED = json.loads(Path(__file__).with_name("recorded_presets.json").read_text())
"""What a search did by default before there were specs."""

NAMES = (
    *(
        "tabular",
        "rich-tabular",
        "residual",
        "convnet",
        "nasbench201",
        "darts",
        "darts-s1",
        "darts-s2",
        "darts-s3",
        "darts-s4",
    ),
    *("darts-unique", "recurrent", "fusion"),
)
IMAGE = (3, 16, 16)
COLUMNS = TableInputs(3, (4, 300, 7))


@dataclass(frozen=True)
class Views:
    """Modalities, and which of them are pictures."""

    modalities: dict[str, list[tuple[int, ...]]]
    pictures: tuple[str, ...] = ()


VIEWS = Views({"image": [(1, 8, 8)], "sound": [(5,)]}, ("image",))
INPUTS: dict[str, Any] = {"table": COLUMNS, "images": IMAGE, "text": None, "modalities": VIEWS}


def small(name: str) -> SpaceSpec:
    sizes = {"channels": 4, "cells": 3, "width": 8, "length": 2}
    known = {setting.name for setting in options_of(name)}
    return space_spec(name, {size: n for size, n in sizes.items() if size in known})


def test_specs_are_there_without_torch() -> None:
    script = """
import sys
from meritnas.families.catalogue import about, options_of, space_spec, space_specs
from meritnas.settings.preset import Facts
print(*space_specs())
for name in space_specs():
    assert about(name) and options_of(name), name
facts = Facts("images", 5000, (3, 32, 32))
assert space_spec("darts").preset("paper", facts, 4).space.cells == 20
assert "torch" not in sys.modules and "numpy" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert tuple(done.stdout.split()) == NAMES


def test_all_that_can_be_decided_is_explained() -> None:
    for name, spec in space_specs().items():
        assert spec.name == name
        assert spec.data in INPUTS
        assert spec.networks
        for setting in settings_of(spec):
            assert setting.help.endswith("."), (name, setting.name)
            assert setting.default is not None or setting.usual, (name, setting.name)
    assert about("darts-s4") == "the same with noise and separable convolutions"
    assert about("tabular").startswith("feed-forward networks for tables: which width")


@pytest.mark.parametrize("name", NAMES)
def test_json_leads_back(name: str) -> None:
    for spec in (space_spec(name), small(name)):
        data = json.loads(json.dumps(spec.to_json()))
        assert data["name"] == name
        assert space_from_json(data) == spec
        assert hash(space_from_json(data)) == hash(spec)


@pytest.mark.parametrize("name", NAMES)
def test_a_family_names_the_spec_that_builds_it(name: str) -> None:
    spec = small(name)
    family = spec.build(INPUTS[spec.data], 3, {})
    assert isinstance(family, Family)
    assert type(family.spec) is type(spec)
    assert family.spec.build(INPUTS[spec.data], 3, {}) == family
    assert set(family.costs) <= set(family.limitable)


@pytest.mark.parametrize("key", RECORDED)
def test_presets_are_as_they_were(key: str) -> None:
    spec, preset, facts = asked(key)
    expected = RECORDED[key]
    if "error" in expected:
        with pytest.raises(UsageError) as caught:
            spec.preset(preset, facts, 1)
        assert expected["error"] == f"UsageError: {caught.value}"
        return
    found = spec.preset(preset, facts, 1)
    sizes = json.loads(json.dumps(found.space.to_json()))
    assert {size: sizes[size] for size in expected["sizes"]} == expected["sizes"]
    assert _recorded(found.search) == expected["search"]
    assert (found.retrain and _recorded(found.retrain)) == expected["retrain"]
    for part in ("search_epochs", "retrain_epochs", "warmup", "retrain_seeds", "finalists"):
        assert getattr(found, part) == expected[part]
    assert found.threads == expected["threads"]


def _recorded(recipe: TrainRecipe) -> dict[str, Any]:
    """What recipes had then."""
    found = recipe.to_json()
    assert found.pop("smoothing") == 0.0
    assert found.pop("precision") == "float32"
    assert found.pop("teacher_share") == 0.6
    assert found.pop("adam_eps") == 1e-8
    assert found["augment"].pop("rotation") == 0
    return found


def asked(key: str) -> tuple[SpaceSpec, str | None, Facts]:
    """What a key such as `images|5000|(3, 32, 32)|darts|paper|4` stands for."""
    kind, rows, first, *rest = key.split("|")
    if kind == "table":
        return space_spec("tabular"), None, Facts(kind, int(rows), (int(first),))
    if kind == "images":
        shape = tuple(json.loads(f"[{first[1:-1]}]"))
        options = {} if rest[2] == "None" else {"partial_channels": int(rest[2])}
        return space_spec(rest[0], options), rest[1], Facts(kind, int(rows), shape)
    preset = None if rest[0] == "None" else rest[0]
    if kind == "text":
        return space_spec("recurrent"), preset, Facts(kind, int(rows), window=int(first))
    return space_spec("fusion"), preset, Facts(kind, int(rows), parts=int(first))


def test_what_is_given_stays_and_the_strategy_decides_on_parts_of_channels() -> None:
    facts = Facts("images", 5000, (3, 32, 32))
    found = Darts(channels=12, auxiliary=0.3).preset("paper", facts, 4)
    assert isinstance(found.space, Darts)
    assert (found.space.channels, found.space.cells) == (12, 20)
    assert found.space.partial_channels == 4
    assert found.search.batch_size == 256  # as PC-DARTS has it
    assert found.retrain is not None
    assert found.retrain.auxiliary == found.space.auxiliary == 0.3
    assert found.search.auxiliary == 0
    assert Darts(partial_channels=1).preset("paper", facts, 4).search.batch_size == 64


@pytest.mark.parametrize(("given", "expected"), [(None, 7), (5, 5)])
def test_a_supernet_of_cells_that_differ_has_all_of_them(given: int | None, expected: int) -> None:
    facts = Facts("images", 5000, (3, 32, 32))
    found = DartsUnique(cells=7, supernet_cells=given).preset(None, facts, 1).space
    assert isinstance(found, DartsUnique)
    assert found.supernet_cells == expected


def test_a_batch_size_decides_how_often_a_table_is_seen() -> None:
    usual = Tabular().preset(None, Facts("table", 5000, (9,)), 1)
    large = Tabular().preset(None, Facts("table", 5000, (9,), batch_size=1000), 1)
    assert (usual.search.batch_size, large.search.batch_size) == (64, 1000)
    assert large.search_epochs > usual.search_epochs
    with pytest.raises(UsageError, match="batch_size must be at least 2, got 1"):
        Tabular().preset(None, Facts("table", 5000, (9,), batch_size=1), 1)
    with pytest.raises(UsageError, match="the preset must be quick or paper, got 'slow'"):
        Tabular().preset("slow", Facts("table", 5000, (9,)), 1)


def test_a_supernet_is_as_large_as_the_spec_says() -> None:
    spec = Darts(channels=8, cells=6, supernet_channels=4, supernet_cells=3, partial_channels=2)
    family = spec.build(IMAGE, 3, {})
    supernet = module_of(spec.supernet(family, 5))
    same = module_of(family.supernet(5, 4, 3, 2))
    for ours, theirs in zip(supernet.parameters(), same.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    table = Tabular(layers=1, widths=(4, 8))
    assert module_of(table.supernet(table.build(COLUMNS, 2, {}), 0)) is not None


def test_embeddings_leave_a_limit_to_the_layers() -> None:
    free = Tabular().build(COLUMNS, 2, {})
    tight = Tabular().build(COLUMNS, 2, {"params": 900})
    assert tight.inputs.embedding_params < free.inputs.embedding_params
    assert Tabular().most_codes(free, {}) is None
    few = Tabular().most_codes(Tabular().build(COLUMNS, 2, {"params": 300}), {"params": 300})
    assert few is not None
    assert few < 300
    own = Tabular(embedding=2)
    assert own.build(COLUMNS, 2, {"params": 300}).inputs.embedding_widths == (2, 2, 2)
    assert own.most_codes(own.build(COLUMNS, 2, {"params": 300}), {"params": 300}) is None
    assert Tabular(widest=3).build(COLUMNS, 2, {"params": 300}).inputs.widest == 3


def test_sizes_of_a_given_architecture() -> None:
    found = Tabular(embedding=3).of_architecture("32-144-24")
    assert (found.layers, found.widths, found.embedding) == (3, ((32,), (144,), (24,)), 3)
    assert Tabular(layers=2).of_architecture("8-16") == Tabular(layers=2)
    with pytest.raises(UsageError, match="written like 32-144-24, got 'x' in it"):
        Tabular().of_architecture("8-x")
    text = "cell1(a.0, b.0): step1 = sum(x, y); step2 = glu(x, step1) + cell2(cell1, a.0): ..."
    fused = Fusion(channels=4).of_architecture(text)
    assert (fused.cells, fused.steps, fused.new_inputs, fused.channels) == (2, 2, False, 4)
    assert Fusion(cells=5).of_architecture(text).cells == 5
    assert fused.heads is None
    heads = f"{text} + mean-each(a: 8, all=16)"
    assert Fusion().of_architecture(heads).heads
    assert Fusion(heads=False).of_architecture(heads).heads is False
    assert Recurrent().of_architecture("|tanh~0|") == Recurrent()


def test_widths_are_kept_as_tuples() -> None:
    assert Tabular(widths=[16, 8, 8]).widths == (8, 16)  # type: ignore[arg-type]
    nested = Tabular(layers=2, widths=[[16, 8], np.array([4])])  # type: ignore[arg-type]
    assert nested.widths == ((8, 16), (4,))
    assert nested.build(COLUMNS, 2, {}).widths == ((8, 16), (4,))
    assert Tabular(layers=2, widths=(4, 8)).build(COLUMNS, 2, {}).widths == ((4, 8), (4, 8))


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Tabular(layers=0), SpaceError, "at least one hidden layer is needed"),
        (lambda: Tabular(widths=(1, 8)), SpaceError, "a layer needs widths of at least 2"),
        (
            lambda: Tabular(layers=4, widths=((4,), (8,))),
            SpaceError,
            "for each of 4 layers is needed, got 2",
        ),
        (lambda: Tabular(embedding=0), UsageError, "embedding must be at least 1, got 0"),
        (lambda: Nasbench201(channels=0), UsageError, "channels must be at least 1, got 0"),
        (lambda: Nasbench201(cells=2.5), UsageError, "cells must be a whole number, got 2.5"),
        (lambda: Nasbench201(zero=1), UsageError, "zero must be True or False, got 1"),
        (lambda: Darts(stem="big"), UsageError, "stem must be one of cifar, imagenet, got 'big'"),
        (lambda: Recurrent(nodes=0), UsageError, "nodes must be at least 1, got 0"),
        (lambda: Fusion(steps=0), UsageError, "steps must be at least 1, got 0"),
        (lambda: Fusion(sparsity=-1), UsageError, "sparsity must be at least 0 and finite, got -1"),
        (lambda: Fusion(operations="norml"), SpaceError, "got 'norml'; did you mean 'normal'?"),
        (lambda: Fusion(backbones={"a": lambda: None}), UsageError, "in a module of its own"),
        (lambda: space_spec("dart"), UsageError, "no space 'dart'; did you mean 'darts'?"),
        (lambda: space_spec("darts", {"zero": True}), UsageError, "space 'darts' has no option"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert says in str(caught.value)


OWN = '''
from dataclasses import dataclass
from typing import Literal

import meritnas
from meritnas.families.tabular.spec import Tabular


def narrow(inputs, outputs, *, layers: int = 2, most: Literal["8", "16"] = "8"):
    """Networks that are narrow.

    Args:
        layers: How many.
        most: How wide.
    """
    return meritnas.tabular_space(inputs, outputs, layers, (2, int(most)))


def nothing(inputs, outputs):
    return 3


@dataclass(frozen=True)
class Deep(Tabular):
    """Deep networks.

    Attributes:
        bottom: Width of the last layer.
    """

    layers: int = 5
    bottom: int = 4
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_specs.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return "own_specs"


def test_a_function_of_ones_own_is_a_spec(own: str) -> None:
    name = f"{own}:narrow"
    spec = space_spec(name, {"layers": 4})
    assert [(s.name, s.help, s.default) for s in options_of(name)] == [
        ("layers", "How many.", 2),
        ("most", "How wide.", "8"),
    ]
    assert about(name) == "networks that are narrow"
    assert spec.build(TableInputs(3), 2, {}).widths == ((2, 8),) * 4
    trust = Trust(frozenset([name]))
    assert space_from_json(json.loads(json.dumps(spec.to_json())), trust) == spec
    unloaded = space_from_json(spec.to_json())
    assert (unloaded.name, unloaded.to_json()) == (name, spec.to_json())
    assert unloaded.own_names == spec.own_names == {name}
    with pytest.raises(UsageError, match="has no build"):
        unloaded.build(TableInputs(3), 2, {})
    assert spec.name == name
    table = spec.preset(None, Facts("table", 150, (3,)), 1)
    assert (table.search_epochs, table.retrain, table.space) == (150, None, spec)
    images = spec.preset("paper", Facts("images", 5000, (3, 32, 32)), 4)
    assert (images.search.batch_size, images.search_epochs) == (256, 50)
    with pytest.raises(UsageError, match="most must be one of 8, 16, got '9'"):
        space_spec(name, {"most": "9"})
    with pytest.raises(UsageError, match="must make a space, a meritnas Family, got a int"):
        space_spec(f"{own}:nothing").build(TableInputs(3), 2, {})
    with pytest.raises(UsageError, match="no space 'own_specs:other'"):
        space_spec(f"{own}:other")


def test_a_spec_of_ones_own_is_found_by_its_name(own: str) -> None:
    spec = space_spec(f"{own}:Deep", {"bottom": 8})
    assert spec.name == f"{own}:Deep"
    assert spec.options() == {"bottom": 8}
    trust = Trust(frozenset([f"{own}:Deep"]))
    assert space_from_json(json.loads(json.dumps(spec.to_json())), trust) == spec
    assert len(spec.build(TableInputs(3), 2, {}).widths) == 5


def test_a_family_of_ones_own_has_no_spec_but_its_functions_name() -> None:
    class Own(meritnas.TabularSpace):
        spec = Family.spec  # type: ignore[assignment]

    with pytest.raises(UsageError, match="a Own is a space of your own; give its function"):
        _ = Own(TableInputs(3), 2, ((4,),)).spec
