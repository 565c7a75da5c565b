from __future__ import annotations

import pytest
import torch

from meritnas import (
    SpaceError,
    UsageError,
    convnet_space,
    darts_space,
    nasbench201_space,
    tabular_space,
)
from meritnas.families.with_plain import WithPlain

CELLS = nasbench201_space(10, 8, 1, image=(1, 28, 28))
BESIDE = WithPlain(CELLS, convnet_space(10, (1, 28, 28)))


@pytest.mark.parametrize("limit", [250, 700, 3000, 100_000])
def test_the_plain_network_for_a_table_is_the_largest_of_equal_widths(limit: int) -> None:
    family = tabular_space(5, 3, 3, (4, 8, 16, 32))
    (found,) = family.plain({"params": limit})
    assert len(set(found.options)) == 1
    assert family.cost(found) <= limit
    wider = [w for w in (4, 8, 16, 32) if w > int(found.options[0])]
    assert all(family.cost(f"{w}-{w}-{w}") > limit for w in wider)


def test_there_is_none_where_no_width_is_common_or_fits() -> None:
    family = tabular_space(5, 3, 2, ((4, 8), (16, 32)))
    assert family.plain({}) == ()
    narrow = tabular_space(5, 3, 2, ((2, 8), (2, 8)))
    assert [one.text for one in narrow.plain({"params": 30, "flops": 10**6})] == ["2-2"]
    assert narrow.plain({"params": 20}) == ()


def test_plain_networks_for_images_are_plain_and_residual_and_as_large_as_fits() -> None:
    family = convnet_space(10, (1, 28, 28))
    plain, residual = family.plain({"params": 150_000})
    assert plain.text == "28x28 plain3(32x2) plain3(64x2) plain3(128x1)"
    assert {block for _, block, _ in family.text.stages(residual.options)} == {"residual3"}
    assert 50_000 < family.cost(residual) <= 150_000
    few = family.plain({"params": 5_000})
    assert few
    assert all(family.cost(one) <= 5_000 for one in few)


def test_cells_have_plain_networks_of_another_family_beside_them() -> None:
    feasible = BESIDE.within({"params": 150_000})
    assert feasible.count() == CELLS.within({"params": 150_000}).count()
    plain, _ = BESIDE.plain({"params": 150_000})
    assert plain.text.startswith("28x28 plain3(32x2)")
    assert BESIDE.of(plain) is BESIDE.other
    assert BESIDE.cost(plain) == 140_458
    assert BESIDE.parse(plain.text) == plain
    assert BESIDE.child(plain)(torch.randn(2, 1, 28, 28)).shape == (2, 10)
    assert BESIDE.drawings(plain) == BESIDE.other.drawings(plain)
    cell = CELLS.random(0)
    assert BESIDE.of(cell) is BESIDE.asked is CELLS
    assert BESIDE.cost(cell) == CELLS.cost(cell)
    assert BESIDE.useful == CELLS.useful
    with pytest.raises(SpaceError, match="is no cell of NAS-Bench-201"):
        BESIDE.parse("what")


def test_a_limit_that_only_cells_know_leaves_no_plain_network() -> None:
    assert BESIDE.plain({"params-paper": 10**6}) == ()


def test_plain_networks_have_no_auxiliary_head() -> None:
    cells = darts_space(10, 4, 3, image=(3, 32, 32))
    beside = WithPlain(cells, convnet_space(10, (3, 32, 32)))
    (first, *_) = beside.plain({})
    with pytest.raises(UsageError, match="convnet have no auxiliary head"):
        beside.child(first, auxiliary=True)
    assert hasattr(beside.child(cells.random(0), auxiliary=True), "auxiliary")
