from __future__ import annotations

import pytest
import torch

from meritnas import TableInputs, tabular_space
from meritnas.training.plain_module import plain_module

CASES = [TableInputs(3), TableInputs(2, (4, 5)), TableInputs(0, (3,)), TableInputs(1, (2, 30, 2))]


@pytest.mark.parametrize("inputs", CASES)
def test_a_plain_module_is_the_same_network(inputs: TableInputs) -> None:
    child = tabular_space(inputs, 2, 2, (4, 8)).child("8-4", seed=1, dropout=0.5)
    found = plain_module(child)
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(9, inputs.numbers, generator=generator)
    codes = [torch.randint(n, (9, 1), generator=generator).float() for n in inputs.cardinalities]
    rows = torch.cat([numbers, *codes], dim=1)
    for some in (rows, rows[:1]):  # any number of rows
        assert torch.equal(found(some), child.eval()(some))
    assert not found.training
    assert sum(p.numel() for p in found.parameters()) == sum(p.numel() for p in child.parameters())
    for part in found.modules():
        assert "meritnas" not in type(part).__module__
