"""Weights in int8: files that are written, what families count of them, what programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from test_families_stored_size import FAMILIES
from torch import nn

import meritnas.nn as mn
from meritnas import UsageError, space_of, tabular_space
from meritnas.data.columns.inputs import TableInputs
from meritnas.exporting.int8_python import int8_weights
from meritnas.families.family import Family
from meritnas.families.int8_weights import COST, FILE, packed, part_of
from meritnas.families.source import with_int8_weights


def maps(pick: mn.Pick, inputs: tuple[int, ...], outputs: int) -> nn.Module:
    """Convolutions with norms that keep statistics."""
    width = pick.width("width", 4, 6)
    norm = pick.one("norm", yes=lambda: mn.BatchNorm2d(width), no=nn.Identity)
    return nn.Sequential(
        mn.Conv2d(inputs[0], width, 3, bias=False),
        norm(),
        pick.one("act", relu=nn.ReLU, prelu=nn.PReLU)(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        mn.Linear(width, outputs),
    )


SPARE = 168
"""Bytes that a file may have less than what is counted: the header's digits, and parts that are
empty."""

OWN = "fusion with a backbone of one's own"
KNOWN: dict[str, Family] = {
    **{name: family for name, family in FAMILIES.items() if name != OWN},
    "tabular": tabular_space(TableInputs(2, (3, 40, 9)), 1, 3, (2, 8, 33)),
    "tabular, one number": tabular_space(1, 2, 2, (2, 16)),
    "a build function": space_of(maps, (2, 8, 8), 3),
}


@pytest.mark.parametrize("name", KNOWN)
def test_no_file_is_larger_than_what_is_counted_nor_much_smaller(name: str, tmp_path: Path) -> None:
    family = KNOWN[name]
    for seed in range(6):
        architecture = family.random(seed)
        (tmp_path / FILE).write_bytes(int8_weights(family.child(architecture)))
        spare = family.cost(architecture, COST) - (tmp_path / FILE).stat().st_size
        assert 0 <= spare <= SPARE


@pytest.mark.parametrize("name", ["tabular", "nasbench201", "fusion", "a build function"])
def test_what_keeps_a_limit_has_a_file_that_keeps_it(name: str) -> None:
    family = KNOWN[name]
    limit = int(np.median([family.cost(family.random(seed), COST) for seed in range(9)]))
    feasible = family.feasible(max_size_kb=limit / 1000, size_of="int8")
    for one in feasible.sample([np.zeros(n) for n in feasible.space.sizes], 4, 0):
        assert len(int8_weights(family.child(one))) <= limit
    assert feasible.count() < family.within({}).count()


def test_a_backbone_of_ones_own_has_no_such_size() -> None:
    assert COST not in FAMILIES[OWN].costs


def read(source: str, path: Path) -> nn.Module:
    """A network as the program that leaves with it reads it."""
    names: dict[str, Any] = {"__name__": "model"}
    exec(compile(source, "model.py", "exec"), names)
    network: nn.Module = names["load"](path)
    return network


@pytest.mark.parametrize("name", KNOWN)
def test_programs_read_weights_to_half_a_step(name: str, tmp_path: Path) -> None:
    family = KNOWN[name]
    architecture = family.random(1)
    child = family.child(architecture)
    with torch.no_grad():
        for number, tensor in enumerate(child.state_dict().values()):
            if tensor.is_floating_point():
                tensor.copy_(torch.randn(tensor.shape, generator=torch.manual_seed(number)))
    (tmp_path / FILE).write_bytes(int8_weights(child))
    network = read(with_int8_weights(family.source(architecture)), tmp_path / FILE)
    found = network.state_dict()
    assert found.keys() == child.state_dict().keys()
    for key, tensor in child.state_dict().items():
        part = part_of(key, tensor.shape, tensor.dtype)
        if part == "int8":
            steps = tensor.flatten(1).abs().amax(1) / 127
            assert ((found[key] - tensor).flatten(1).abs().amax(1) <= 0.501 * steps).all()
        elif part:
            assert torch.equal(found[key], tensor)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 9), st.floats(1e-30, 1e30), st.integers(0, 99))
def test_every_row_is_read_to_half_of_its_own_step(
    rows: int, columns: int, size: float, seed: int
) -> None:
    weight = size * torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    weight[0] = 0.0
    parts = load(save(packed({"layer.weight": weight})))
    if columns == 1:
        assert torch.equal(parts["float32"], weight.flatten())
        return
    numbers, scales = parts["int8"].reshape(weight.shape), parts["scales"]
    assert numbers.abs().max() <= 127
    off = (numbers * scales[:, None] - weight).abs()
    assert (off <= 0.501 * weight.abs().amax(1, keepdim=True) / 127).all()


def test_other_types_and_what_norms_keep_stay_and_what_is_no_number_is_refused() -> None:
    counts = torch.tensor([[3, 4], [5, 6]])
    norm = nn.BatchNorm1d(3).state_dict(prefix="norm.")
    parts = packed({"counts": counts, **norm, "half": torch.ones(2, 2, dtype=torch.float64)})
    assert parts.keys() == {"float32", "bytes"}
    assert len(parts["float32"]) == 6
    assert parts["bytes"].numel() == 4 * 8 + 4 * 8 + 2 * 3 * 4
    with pytest.raises(UsageError, match="no finite number"):
        packed({"weight": torch.full((2, 2), torch.nan)})
