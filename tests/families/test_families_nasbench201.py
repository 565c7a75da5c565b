from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from counting_child import counted_flops, counted_params

from meritnas.errors import SpaceError, UsageError
from meritnas.families.drop_path import DropPath
from meritnas.families.nasbench201.benchmark import count_flops, count_params
from meritnas.families.nasbench201.child import EDGES, CellNetwork
from meritnas.families.nasbench201.family import OPERATIONS, nasbench201_space
from meritnas.supernet.gates import one_path

THREE, ONE, SKIP, POOL, ZERO = (
    "nor_conv_3x3",
    "nor_conv_1x1",
    "skip_connect",
    "avg_pool_3x3",
    "none",
)


def cell(*names: str) -> str:
    a, b, c, d, e, f = names
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


DEAD = cell(POOL, ZERO, THREE, SKIP, POOL, ZERO)
"""Nothing reads node 2, so its convolution is dead."""


def everything(options: int) -> np.ndarray:
    return np.array(list(itertools.product(range(options), repeat=6)))


def test_there_are_15625_cells_and_4096_without_zero() -> None:
    assert nasbench201_space().space.count() == 15_625
    assert nasbench201_space(zero=False).space.count() == 4_096
    assert "none" not in nasbench201_space(zero=False).space.names[0]


@pytest.mark.parametrize(("classes", "more"), [(10, 0), (100, 5_850), (120, 7_150)])
def test_all_cells_have_the_weights_of_the_benchmarks_formula(classes: int, more: int) -> None:
    family = nasbench201_space(classes)
    picks = everything(5)
    threes = (picks == OPERATIONS.index(THREE)).sum(axis=1)
    ones = (picks == OPERATIONS.index(ONE)).sum(axis=1)
    found = family.costs["params-paper"].of(picks)
    assert (found == 73_306 + more + 243_040 * threes + 28_000 * ones).all()
    assert len(set(found.tolist())) == 28


def test_all_cells_have_the_multiply_adds_of_the_benchmarks_formula() -> None:
    picks = everything(5)
    threes = (picks == OPERATIONS.index(THREE)).sum(axis=1)
    ones = (picks == OPERATIONS.index(ONE)).sum(axis=1)
    found = nasbench201_space().costs["flops-paper"].of(picks)
    assert (found == 7_783_050 + 35_389_440 * threes + 3_932_160 * ones).all()


@pytest.mark.parametrize(
    ("text", "classes", "params"),
    [
        (cell(*[ZERO] * 6), 10, 73_306),
        (DEAD, 10, 73_306),
        (cell(*[SKIP] * 6), 10, 73_306),
        (cell(*[POOL] * 6), 10, 73_306),
        (cell(*[ONE] * 6), 10, 241_306),
        (cell(*[THREE] * 6), 10, 1_531_546),
        (cell(THREE, THREE, THREE, SKIP, THREE, THREE), 10, 1_288_506),
        (cell(THREE, THREE, THREE, SKIP, THREE, THREE), 100, 1_294_356),
        (cell(THREE, ZERO, THREE, SKIP, ZERO, SKIP), 10, 559_386),
    ],
)
def test_known_cells_have_their_known_size(text: str, classes: int, params: int) -> None:
    family = nasbench201_space(classes)
    child = family.child(text)
    assert family.cost(text) == params == counted_params(child)
    assert family.cost(text, "flops") == counted_flops(child, family.image)


@pytest.mark.parametrize(
    ("image", "channels", "cells", "zero"),
    [
        ((3, 32, 32), 4, 1, True),
        ((1, 28, 28), 5, 2, True),
        ((3, 7, 9), 3, 1, False),
        ((2, 30, 8), 4, 1, True),
    ],
)
def test_costs_are_what_counting_the_child_gives(
    image: tuple[int, int, int], channels: int, cells: int, zero: bool
) -> None:
    family = nasbench201_space(7, channels, cells, zero, image)
    for seed in range(4):
        architecture = family.random(seed)
        child = family.child(architecture)
        assert family.cost(architecture, "params") == counted_params(child)
        assert family.cost(architecture, "flops") == counted_flops(child, image)
        assert child(torch.randn(2, *image)).shape == (2, 7)


def walked(names: tuple[str, ...]) -> list[bool]:
    """Which edges lie on a way from node 0 to node 3, by listing all ways."""
    ways = ((3,), (0, 4), (1, 5), (0, 2, 5))
    there = [way for way in ways if all(names[i] != ZERO for i in way)]
    return [any(i in way for way in there) for i in range(6)]


def test_children_hold_no_dead_operations_and_cost_what_they_hold() -> None:
    """All cells whose edges are `none` or not, and others; texts stay as they were written."""
    family = nasbench201_space(3, 2, 1, image=(1, 5, 5))
    zeros_or_not = [
        tuple(name if k >> i & 1 else ZERO for i, name in enumerate((THREE, ONE, POOL) * 2))
        for k in range(64)
    ]
    drawn = [family.random(seed).options for seed in range(40)]
    for names in [*zeros_or_not, *drawn]:
        architecture = family.parse(cell(*names))
        child = family.child(architecture)
        held = set(child.stage1cell1.edges)  # type: ignore[arg-type, union-attr]
        assert held == {str(i) for i, live in enumerate(walked(names)) if live}
        assert family.cost(architecture, "params") == counted_params(child)
        assert family.cost(architecture, "flops") == counted_flops(child, family.image)
        whole = CellNetwork(names, **family._sizes())
        assert family.cost(architecture, "params-paper") == counted_params(whole)
        assert architecture.text == cell(*names)
        assert family.pruned(architecture).options == tuple(
            name if live else ZERO for name, live in zip(names, walked(names), strict=True)
        )


def test_a_cell_without_its_dead_operations_says_the_same() -> None:
    """With the same weights; a dead operation that reads an empty node only adds its norm's bias.

    That bias, the same for every image, is what the children here do without.
    """
    family = nasbench201_space(3, 2, 1, image=(1, 5, 5))
    images = torch.randn(4, 1, 5, 5, generator=torch.Generator().manual_seed(0))
    unread = cell(THREE, SKIP, ONE, ONE, ZERO, ZERO)
    empty = cell(ZERO, ZERO, THREE, ONE, THREE, THREE)
    for text, constant in ((DEAD, False), (unread, False), (empty, True)):
        whole = CellNetwork(family.parse(text).options, **family._sizes())
        torch.manual_seed(0)
        for param in whole.parameters():
            torch.nn.init.normal_(param, 0.5)
        child = family.child(text)
        child.load_state_dict(family.own_weights(text, whole.state_dict()))
        same = torch.allclose(child(images), whole(images), atol=1e-5)
        assert same is not constant
        for name, param in whole.named_parameters():
            if constant and name not in child.state_dict():
                torch.nn.init.zeros_(param)
        torch.testing.assert_close(child(images), whole(images))


def test_a_limit_buys_nothing_dead() -> None:
    """Of all cells the ones within a limit are those whose every operation matters, exactly."""
    family = nasbench201_space()
    picks = everything(5)
    names = [tuple(OPERATIONS[k] for k in row) for row in picks]
    live = np.array([walked(row) == [name != ZERO for name in row] for row in names])
    seen = np.array([any(walked(row)) for row in names])
    params = family.costs["params-paper"].of(picks)
    for limit in (73_306, 150_000, 400_000, 2_000_000):
        for space in (family, family.useful):
            feasible = space.feasible(max_params=limit)
            assert feasible.count() == (live & seen & (params <= limit)).sum()
            for one in feasible.sample([np.zeros(5)] * 6, 20, 0):
                assert space.cost(one) == counted_params(family.child(one)) <= limit
        counted = family.feasible(max_params_paper=limit)
        assert counted.count() == (params <= limit).sum()
        assert family.useful.feasible(max_params_paper=limit).count() == feasible.count()
    flops = family.costs["flops-paper"].of(picks)
    limit = 80_000_000
    assert family.feasible(max_flops=limit).count() == (live & seen & (flops <= limit)).sum()
    assert family.feasible(max_flops_paper=limit).count() == (flops <= limit).sum()
    assert family.fits(DEAD, {"params": 73_306})
    assert not family.fits(DEAD, {"params": 73_306, "params-paper": 316_345})


def test_counts_of_the_paper_are_those_of_the_table() -> None:
    family = nasbench201_space()
    for seed in range(50):
        text = family.random(seed).text
        assert family.cost(text, "params-paper") == count_params(text)
        assert family.cost(text, "flops-paper") == count_flops(text)


def test_every_live_cell_is_written_once() -> None:
    """A cell that a way leads through is, without its dead part, one of those that are searched."""
    family = nasbench201_space(3, 2, 1, image=(1, 5, 5))
    searched = family.useful.space
    found = set()
    for picks in everything(5):
        architecture = family.space.architecture(picks)
        if family.sees(architecture):
            found.add(family.pruned(architecture))
    assert len(found) == searched.count() == 9_444
    assert all(searched.picks(one) for one in found)


@pytest.mark.parametrize("image", [(1, 8, 8), (3, 7, 9), (3, 28, 28), (1, 30, 30), (3, 4, 4)])
def test_child_and_supernet_work_at_odd_and_small_sizes(image: tuple[int, int, int]) -> None:
    family = nasbench201_space(3, 4, 1, image=image)
    inputs = torch.randn(3, *image)
    architecture = family.parse(cell(THREE, POOL, ONE, SKIP, ZERO, THREE))
    assert family.child(architecture)(inputs).shape == (3, 3)
    gates = one_path(family.space.picks(architecture))
    for partial in (1, 2):
        assert family.supernet(partial=partial)(inputs, gates).shape == (3, 3)


def test_the_cell_is_the_sum_of_its_edges() -> None:
    """2<-1 reads what 1<-0 gives; a node without inputs is zero, and so is what reads it."""
    family = nasbench201_space(2, 2, 1, image=(1, 6, 6))
    inputs = torch.rand(2, 2, 6, 6)
    for names, expected in (
        ((SKIP,) * 6, lambda x: 4 * x),  # 1 = x, 2 = 1 + x = 2x, 3 = x + 1 + 2 = 4x
        ((ZERO, SKIP, SKIP, ZERO, SKIP, SKIP), lambda x: x),
        ((SKIP, ZERO, SKIP, ZERO, ZERO, SKIP), lambda x: x),
        ((SKIP, SKIP, SKIP, ZERO, ZERO, ZERO), torch.zeros_like),
        ((SKIP, ZERO, ZERO, SKIP, ZERO, SKIP), lambda x: x),
    ):
        child = family.child(cell(*names))
        torch.testing.assert_close(child.stage1cell1(inputs), expected(inputs))  # type: ignore[operator]


def test_stages_double_the_channels_and_halve_the_size() -> None:
    family = nasbench201_space(10, 16, 5)
    child = family.child(cell(*[THREE] * 6))
    names = [name for name, _ in child.named_children()]
    assert len([name for name in names if "cell" in name]) == 15
    assert names.index("reduce1") == 6
    assert names.index("reduce2") == 12
    shapes = {}
    for name, part in child.named_children():
        part.register_forward_hook(
            lambda _, __, outputs, name=name: shapes.update({name: tuple(outputs.shape[1:])})
        )
    child(torch.randn(1, 3, 32, 32))
    assert shapes["stem"] == shapes["stage1cell5"] == (16, 32, 32)
    assert shapes["reduce1"] == shapes["stage2cell5"] == (32, 16, 16)
    assert shapes["reduce2"] == shapes["stage3cell5"] == (64, 8, 8)


def test_texts_lead_back_for_all_cells() -> None:
    space = nasbench201_space().space
    texts = set()
    for picks in everything(5)[::7]:
        architecture = space.architecture(picks)
        assert space.parse(architecture.text) == architecture
        texts.add(architecture.text)
    assert len(texts) == len(everything(5)[::7])


def test_the_order_of_edges_is_the_benchmarks() -> None:
    assert EDGES == ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
    family = nasbench201_space()
    text = cell(THREE, ONE, SKIP, POOL, ZERO, THREE)
    assert family.parse(text).options == (THREE, ONE, SKIP, POOL, ZERO, THREE)
    assert str(family.parse(f" {text.replace('+', ' + ')}\n")) == text
    # The order within a node says nothing: the number after the ~ does.
    swapped = f"|{THREE}~0|+|{SKIP}~1|{ONE}~0|+|{THREE}~2|{POOL}~0|{ZERO}~1|"
    assert family.parse(swapped) == family.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "32-144-24",
        "|skip_connect~0|",
        cell(*[SKIP] * 6).replace("~2", "~1"),
        cell(*[SKIP] * 6).replace("~2", "~3"),
        cell(*[SKIP] * 6).replace("~2", "~²"),
        cell(*[SKIP] * 6).replace("~2", ""),
        cell(*[SKIP] * 6).replace("|+", "|none~0|+", 1),
        cell(*[SKIP] * 6) + "+|none~0|",
    ],
)
def test_a_text_that_is_no_cell_is_explained(text: str) -> None:
    with pytest.raises(
        SpaceError, match=r"is no cell of NAS-Bench-201, which is written like \|skip"
    ):
        nasbench201_space().parse(text)


def test_operations_that_a_space_does_not_have_are_named() -> None:
    with pytest.raises(SpaceError, match="'sep' is no option of decision 'edge3<-2'"):
        nasbench201_space().parse(cell(*[SKIP] * 5, "sep"))
    with pytest.raises(SpaceError, match="'none' is no option of decision 'edge1<-0'"):
        nasbench201_space(zero=False).parse(cell(*[ZERO] * 6))


def test_drop_path_acts_on_operations_but_not_on_identities() -> None:
    family = nasbench201_space(2, 2, 1, image=(1, 6, 6))
    inputs = torch.rand(64, 2, 6, 6) + 0.1
    for name, drops in ((SKIP, False), (POOL, True)):
        child = family.child(cell(ZERO, ZERO, ZERO, name, ZERO, ZERO), dropout=0.5)
        torch.manual_seed(0)
        gone = (child.stage1cell1(inputs) == 0).flatten(1).all(dim=1)  # type: ignore[operator]
        assert bool(gone.any()) == drops
        assert not gone.all()
    assert sum(isinstance(part, DropPath) for part in child.modules()) == 3


def test_an_auxiliary_head_is_refused() -> None:
    with pytest.raises(UsageError, match="no auxiliary head"):
        nasbench201_space().child(cell(*[SKIP] * 6), auxiliary=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"classes": 0}, "classes must be at least 1, got 0"),
        ({"channels": 0}, "channels must be at least 1, got 0"),
        ({"cells": 0}, "cells must be at least 1, got 0"),
        ({"image": (3, 3, 32)}, r"at least 1 channel and 4 by 4 pixels, got \(3, 3, 32\)"),
        ({"image": (0, 8, 8)}, "at least 1 channel"),
    ],
)
def test_sizes_that_make_no_network_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        nasbench201_space(**arguments)  # type: ignore[arg-type]


def test_partial_channels_need_channels_that_can_be_parted() -> None:
    with pytest.raises(SpaceError, match="multiple of the 4 parts of partial channels, got 6"):
        nasbench201_space(channels=6).supernet(partial=4)


def test_a_smaller_supernet_is_as_large_as_asked() -> None:
    family = nasbench201_space(10, 16, 5)
    small = family.supernet(channels=4, cells=1)
    same = nasbench201_space(10, 4, 1).supernet()
    assert counted_params(small) == counted_params(same)
    picks = family.space.picks(family.random(0))
    child = nasbench201_space(10, 4, 1).child(family.random(0))
    child.load_state_dict(small.extract(picks))


def test_a_supernet_with_partial_channels_cannot_be_taken_apart() -> None:
    supernet = nasbench201_space(channels=4, cells=1).supernet(partial=2)
    assert supernet.extract((1,) * 6)  # skip connections have no weights
    with pytest.raises(ValueError, match="with whole channels, can be taken apart"):
        supernet.extract((3,) * 6)
