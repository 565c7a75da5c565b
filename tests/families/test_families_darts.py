from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch
from counting_child import counted_flops, counted_params
from darts_facts import PUBLISHED, UNIFORM, genotype, uniform
from torch import nn
from torch.nn import functional as F

from meritnas.errors import SpaceError, UsageError
from meritnas.families.darts.auxiliary import auxiliary_head
from meritnas.families.darts.child import EDGES, DartsCell, plan_cells
from meritnas.families.darts.family import OPERATIONS, DartsSpace, Variant, darts_space
from meritnas.families.darts.supernet import MixedDartsCell
from meritnas.families.operations import FactorizedReduce, Noise
from meritnas.space.architecture import Architecture
from meritnas.supernet.gates import Gate, Gates, mixture, one_path
from meritnas.supernet.mixed import Mixed

CIFAR = cache(lambda: darts_space())
SMALL = cache(lambda: darts_space(channels=16, cells=8))
IMAGENET = cache(lambda: darts_space(1000, 48, 14, image=(3, 224, 224), stem="imagenet"))
VARIANTS: tuple[Variant | None, ...] = (None, "s1", "s2", "s3", "s4", "unique")
V1 = PUBLISHED["DARTS_V1"].text


def on_meta(family: DartsSpace, text: str, auxiliary: bool = False) -> nn.Module:
    with torch.device("meta"):
        return family.child(text, auxiliary=auxiliary)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_have_their_published_sizes(name: str) -> None:
    facts = PUBLISHED[name]
    for family, params in (
        (CIFAR(), facts.cifar),
        (IMAGENET(), facts.imagenet),
        (SMALL(), facts.small),
    ):
        assert family.cost(facts.text) == params
        assert counted_params(on_meta(family, facts.text)) == params
    with_head = on_meta(CIFAR(), facts.text, auxiliary=True)
    assert counted_params(with_head) == facts.with_auxiliary


@pytest.mark.parametrize("short", UNIFORM)
def test_uniform_genotypes_have_their_known_sizes(short: str) -> None:
    large, small = UNIFORM[short]
    assert CIFAR().cost(uniform(short)) == large
    assert SMALL().cost(uniform(short)) == small == counted_params(SMALL().child(uniform(short)))


def test_cells_without_any_edge_weigh_as_much_as_cells_of_pooling() -> None:
    for family, params in ((CIFAR(), 1_370_134), (SMALL(), 100_730)):
        with torch.device("meta"):
            bare = family._network(["none"] * 28, 0.0, auxiliary=False)
        assert counted_params(bare) == family.costs["params"].constant == params
        assert bare(torch.empty(2, 3, 32, 32, device="meta")).shape == (2, 10)


def test_supernets_have_their_known_sizes() -> None:
    for partial, params in ((1, 1_930_618), (4, 299_578)):
        with torch.device("meta"):
            whole = SMALL().supernet(partial=partial)
            smaller = CIFAR().supernet(channels=16, cells=8, partial=partial)
        assert counted_params(whole) == counted_params(smaller) == params


def test_the_spaces_have_as_many_architectures_as_papers_say() -> None:
    assert darts_space().space.count() == 1_037_664_180**2
    assert darts_space().space.sizes == (8,) * 28
    two_of_three = (1 * 3 * 6 * 10 * 4**4) ** 2
    for variant in ("s1", "s2", "s3", "s4"):
        assert darts_space(variant=variant).space.count() == two_of_three
    assert darts_space(cells=3, variant="unique").space.count() == 8 ** (3 * 14)


def test_s1_has_the_operations_that_were_chosen_by_hand() -> None:
    names = darts_space(variant="s1").space.names
    skip, pool_m, pool_a = "skip_connect", "max_pool_3x3", "avg_pool_3x3"
    sep3, dil3, dil5 = "sep_conv_3x3", "dil_conv_3x3", "dil_conv_5x5"
    assert [tuple(row[1:]) for row in names] == [
        (skip, dil3), (skip, dil5),
        (skip, dil5), (skip, sep3), (skip, dil3),
        (pool_m, skip), (skip, sep3), (skip, sep3), (skip, dil3),
        (skip, sep3), (pool_m, skip), (skip, dil3), (dil3, dil5), (dil3, dil5),
        (pool_m, pool_a), (pool_m, dil3),
        (pool_m, pool_a), (pool_m, pool_a), (skip, dil5),
        (pool_m, pool_a), (pool_m, sep3), (skip, dil3), (skip, dil5),
        (pool_m, pool_a), (pool_m, pool_a), (skip, dil5), (skip, dil5), (skip, dil5),
    ]  # fmt: skip
    assert all(row[0] == "none" for row in names)


@pytest.mark.parametrize(
    ("variant", "options", "zero"),
    [
        (None, OPERATIONS, True),
        ("s2", ("none", "skip_connect", "sep_conv_3x3"), False),
        ("s3", ("none", "skip_connect", "sep_conv_3x3"), True),
        ("s4", ("none", "noise", "sep_conv_3x3"), False),
    ],
)
def test_none_is_an_operation_of_the_mixture_only_where_the_papers_have_it(
    variant: Variant | None, options: tuple[str, ...], zero: bool
) -> None:
    for decision in darts_space(variant=variant).space.decisions:
        assert tuple(option.name for option in decision.options) == options
        assert decision.options[0].tags == frozenset({"absent", "zero"} if zero else {"absent"})
        assert not any(option.tags for option in decision.options[1:])


def test_where_cells_differ_none_is_an_operation_like_the_others() -> None:
    space = darts_space(cells=4, variant="unique").space
    assert space.rule is None
    assert all(decision.options[0].tags == {"zero"} for decision in space.decisions)
    assert space.names == [list(OPERATIONS)] * 56
    family = darts_space(3, 4, 3, "unique", (1, 8, 8))
    picks = [0] * 42
    assert family.child(family.space.architecture(picks))(torch.randn(2, 1, 8, 8)).shape == (2, 3)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("image", "cells", "stem"),
    [((1, 8, 8), 3, "cifar"), ((3, 7, 9), 5, "cifar"), ((3, 30, 28), 4, "imagenet")],
)
def test_costs_are_what_counting_the_child_gives(
    variant: Variant | None, image: tuple[int, int, int], cells: int, stem: str
) -> None:
    family = darts_space(5, 4, cells, variant, image, stem)  # type: ignore[arg-type]
    for seed in range(3):
        architecture = family.random(seed)
        child = family.child(architecture)
        assert family.cost(architecture, "params") == counted_params(child)
        assert family.cost(architecture, "flops") == counted_flops(child, image)


@pytest.mark.parametrize(
    ("image", "variant"),
    [
        ((1, 28, 28), "s4"),
        ((3, 8, 8), None),
        ((1, 8, 8), "unique"),
        ((3, 30, 30), "s1"),
        ((1, 7, 9), None),
        ((3, 7, 9), "unique"),
        ((3, 4, 4), None),
    ],
)
def test_child_and_supernet_work_at_odd_and_small_sizes(
    image: tuple[int, int, int], variant: Variant | None
) -> None:
    family = darts_space(3, 4, 3, variant, image)
    inputs = torch.randn(3, *image)
    assert family.child(family.random(0))(inputs).shape == (3, 3)
    rows = [torch.full((size,), 1 / size) for size in family.space.sizes]
    for partial in (1, 2):
        supernet = family.supernet(partial=partial)
        assert supernet(inputs, mixture(rows)).shape == (3, 3)
        gates = one_path(family.space.picks(family.random(1)))
        assert supernet(inputs, gates).shape == (3, 3)


@pytest.mark.parametrize("size", [64, 224])
def test_the_imagenet_stem_divides_the_size_by_eight(size: int) -> None:
    family = darts_space(1000, 48, 14, image=(3, size, size), stem="imagenet")
    child = on_meta(family, V1, auxiliary=True)
    shapes = []
    for cell in child.cells:  # type: ignore[union-attr]
        cell.register_forward_hook(lambda _, __, out: shapes.append(tuple(out.shape[1:])))
    inputs = torch.empty(2, 3, size, size, device="meta")
    outputs, auxiliary = child.both(inputs)  # type: ignore[operator]
    assert outputs.shape == auxiliary.shape == (2, 1000)
    last = size // 8
    assert shapes[:4] == [(4 * 48, last, last)] * 4
    assert shapes[4:9] == [(4 * 96, last // 2, last // 2)] * 5
    assert shapes[9:] == [(4 * 192, last // 4, last // 4)] * 5
    assert isinstance(child.cells[0].inputs.first, FactorizedReduce)  # type: ignore[index,union-attr]


def test_cells_reduce_at_a_third_and_two_thirds() -> None:
    plans = plan_cells(36, 20, (3, 32, 32), "cifar")
    assert [i for i, plan in enumerate(plans) if plan.reduction] == [6, 13]
    assert [plan.channels for plan in plans] == [36] * 6 + [72] * 7 + [144] * 7
    assert [i for i, plan in enumerate(plans) if plan.shrink] == [7, 14]
    assert plans[0].before == (108, 108)
    assert plans[1].before == (108, 144)
    assert plans[7].before == (144, 288)
    assert (plans[5].height, plans[6].height, plans[19].height) == (32, 16, 8)
    strides = [plans[6].stride(edge) for edge in range(14)]
    assert strides == [2 if source < 2 else 1 for _, source in EDGES]
    assert {plans[7].stride(edge) for edge in range(14)} == {1}


@pytest.mark.parametrize("size", [8, 7])
def test_a_cell_is_the_sum_of_its_edges_and_the_nodes_side_by_side(size: int) -> None:
    """With skips from state 1 and poolings, a node's value can be written down."""
    family = darts_space(2, 2, 3, image=(1, size, size))
    child = family.child(
        genotype(
            "skip<-1 skip<-0 | skip<-2 avg<-1 | skip<-3 max<-0 | skip<-2 skip<-5",
            "avg<-1 max<-0 | skip<-2 avg<-0 | skip<-3 skip<-2 | max<-4 skip<-2",
        ).replace("('skip_connect', 5)", "('skip_connect', 4)")
    )
    torch.manual_seed(0)
    first = torch.randn(3, 6, size, size)
    cell = child.cells[0]
    assert isinstance(cell, DartsCell)
    a, b = cell.inputs(first, first)
    two = a + b
    three = two + F.avg_pool2d(b, 3, 1, 1, count_include_pad=False)
    four = three + F.max_pool2d(a, 3, 1, 1)
    five = two + four
    torch.testing.assert_close(cell(first, first), torch.cat([two, three, four, five], dim=1))
    cell = child.cells[1]
    assert isinstance(cell, DartsCell)
    second = torch.randn(3, 8, size, size)
    a, b = cell.inputs(first, second)
    two = F.avg_pool2d(b, 3, 2, 1, count_include_pad=False) + F.max_pool2d(a, 3, 2, 1)
    three = two + F.avg_pool2d(a, 3, 2, 1, count_include_pad=False)
    four = three + two
    five = F.max_pool2d(four, 3, 1, 1) + two
    torch.testing.assert_close(cell(first, second), torch.cat([two, three, four, five], dim=1))


def test_normal_cells_are_alike_and_so_are_reduction_cells() -> None:
    family = darts_space(cells=8, channels=4)
    picks = family.space.picks(family.random(2))
    child = family.child(family.space.architecture(picks))
    kinds = [
        [type(part).__name__ for part in cell.edges.values()]  # type: ignore[union-attr]
        for cell in child.cells
    ]
    present = [
        list(cell.edges)  # type: ignore[arg-type]
        for cell in child.cells
    ]
    normal = [str(i) for i in range(14) if picks[i]]
    reduce = [str(i) for i in range(14) if picks[14 + i]]
    assert present == [reduce if number in (2, 5) else normal for number in range(8)]
    assert len(set(map(tuple, kinds))) <= 2


def test_drop_path_acts_on_operations_but_not_on_identities() -> None:
    family = darts_space(2, 2, 3, image=(1, 6, 6))
    inputs = torch.rand(64, 6, 6, 6)
    for short, drops in (("skip", False), ("avg", True)):
        cell = family.child(uniform(short), dropout=0.5).cells[0]
        assert isinstance(cell, DartsCell)
        cell.inputs.register_forward_hook(lambda *_: (inputs[:, :2] + 0.1, inputs[:, :2] + 0.1))
        torch.manual_seed(0)
        gone = (cell(inputs, inputs) == 0).flatten(1).any(dim=1)
        assert bool(gone.any()) == drops
        cell.eval()
        assert not (cell(inputs, inputs) == 0).any()
    reduction = family.child(uniform("skip"), dropout=0.5).cells[1]
    maps = torch.randn(64, 8, 6, 6)
    reduction.train()
    torch.manual_seed(0)
    # At stride 2 a skip connection is an operation, which is dropped like the others.
    assert (reduction(inputs, maps)[:, :2] == 0).flatten(1).all(dim=1).any()


def test_the_auxiliary_head_is_the_published_one_on_maps_of_8() -> None:
    head = auxiliary_head(576, 8, 10, "cifar")
    pool = head[1]
    assert isinstance(pool, nn.AvgPool2d)
    assert (pool.kernel_size, pool.stride, pool.padding) == (5, 3, 0)
    assert pool.count_include_pad is False
    kinds = [type(part).__name__ for part in head]
    assert kinds == [
        *("ReLU", "AvgPool2d", "Conv2d", "BatchNorm2d", "ReLU"),
        *("Conv2d", "BatchNorm2d", "ReLU", "Flatten", "Linear"),
    ]
    assert counted_params(head) == 476_426 == 3_645_840 - 3_169_414
    without = [type(part).__name__ for part in auxiliary_head(576, 14, 1000, "imagenet")]
    assert without.count("BatchNorm2d") == 1


@pytest.mark.parametrize("size", range(2, 29))
def test_an_auxiliary_head_pools_any_map_to_two_by_two(size: int) -> None:
    head = auxiliary_head(8, size, 3, "cifar")
    maps = torch.rand(2, 8, size, size)
    assert head[:2](maps).shape == (2, 8, 2, 2)
    assert head(maps).shape == (2, 3)
    seen = torch.ones(1, 1, size, size, requires_grad=True)
    head[1](seen).sum().backward()
    assert seen.grad is not None
    assert (seen.grad > 0).all()


def test_the_auxiliary_head_reads_the_cell_at_two_thirds_and_counts_in_no_cost() -> None:
    family = darts_space(4, 4, 6)
    child = family.child(V1, auxiliary=True)
    maps = {}
    for number, cell in enumerate(child.cells):
        cell.register_forward_hook(lambda _, __, out, number=number: maps.update({number: out}))
    seen = []
    assert child.auxiliary is not None
    child.auxiliary.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    inputs = torch.randn(2, 3, 32, 32)
    outputs, auxiliary = child.both(inputs)
    assert outputs.shape == auxiliary.shape == (2, 4)
    assert seen[0] is maps[4]
    named = {name for name, _ in child.named_parameters() if name.startswith("auxiliary.")}
    plain = {name for name, _ in family.child(V1).named_parameters()}
    assert {name for name, _ in child.named_parameters()} - named == plain
    assert named
    # Without anyone asking for it the head is not run.
    child(inputs)
    assert len(seen) == 1


@pytest.mark.parametrize("image", [(3, 7, 9), (3, 4, 4)])
def test_an_auxiliary_head_that_cannot_be_is_explained(image: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError, match="square map of at least 2 by 2 pixels"):
        darts_space(2, 4, 3, image=image).child(V1, auxiliary=True)


@pytest.mark.parametrize("pool_norm", [True, False])
def test_pooling_is_followed_by_a_norm_only_in_the_supernet(pool_norm: bool) -> None:
    family = darts_space(2, 4, 3, image=(1, 8, 8))
    supernet = family.supernet() if pool_norm else family.supernet(pool_norm=False)
    for cell in supernet.body.cells:  # type: ignore[union-attr]
        assert isinstance(cell, MixedDartsCell)
        for edge in cell.edges:
            assert isinstance(edge, Mixed)
            for option in ("1", "2"):
                kinds = [type(part).__name__ for part in edge.options[option].modules()]
                pool = "MaxPool2d" if option == "1" else "AvgPool2d"
                assert kinds == (["Sequential", pool, "BatchNorm2d"] if pool_norm else [pool])
    child = family.child(uniform("max"))
    assert not any(list(edge.children()) for cell in child.cells for edge in cell.edges.values())  # type: ignore[union-attr]


def test_norms_in_the_cells_of_a_supernet_have_no_weights() -> None:
    supernet = darts_space(2, 4, 3, image=(1, 8, 8)).supernet()
    norms = [part for part in supernet.modules() if isinstance(part, nn.BatchNorm2d)]
    affine = [norm for norm in norms if norm.affine]
    assert len(affine) == 1  # the stem's
    assert len(norms) > 100
    assert not list(supernet.buffers())


def test_noise_replaces_its_input() -> None:
    family = darts_space(2, 4, 3, "s4", (1, 8, 8))
    picks = (1, 1, *(1, 1, 0), *(1, 1, 0, 0), *(1, 1, 0, 0, 0))
    child = family.child(family.space.architecture(picks * 2)).eval()
    assert sum(isinstance(part, Noise) for part in child.modules()) == 3 * 8
    torch.manual_seed(0)
    some = child(torch.randn(2, 1, 8, 8))
    torch.manual_seed(0)
    other = child(torch.randn(2, 1, 8, 8) + 5)
    torch.manual_seed(0)
    torch.randn(2, 1, 8, 8)
    again = child(torch.randn(2, 1, 8, 8))
    assert torch.equal(some, other)
    assert not torch.equal(some, again)


def small_supernet(partial: int = 1) -> tuple[nn.Module, tuple[int, ...]]:
    family = darts_space(3, 4, 4, image=(1, 8, 8))
    return family.supernet(seed=3, partial=partial).double(), family.space.sizes


def images(n: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.randn(n, 1, 8, 8, dtype=torch.float64, generator=generator)


def rows_of(sizes: Sequence[int], seed: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.uniform(0.1, 1, size), requires_grad=True) for size in sizes]


def test_a_gates_gradient_is_gradient_times_output_summed_over_the_cells_that_share_it() -> None:
    supernet, sizes = small_supernet()
    rows = rows_of(sizes, 0)
    expected = [torch.zeros(size, dtype=torch.float64) for size in sizes]
    reduction = {1, 2}  # of 4 cells
    shared = set()

    def watch(edge: Mixed, decision: int) -> None:
        for option in edge.options:

            def keep(
                _: nn.Module, __: object, outputs: torch.Tensor, k: int = int(option)
            ) -> torch.Tensor:
                # A copy of its own, so that the gradient is that of this edge's use alone.
                own = outputs.clone()

                def add(gradient: torch.Tensor) -> None:
                    # d/d(output) = gate * d/d(gate * output)
                    part = (gradient * own.detach()).sum() / rows[decision].detach()[k]
                    expected[decision][k] += part

                own.register_hook(add)
                return own

            edge.options[option].register_forward_hook(keep)

    for number, cell in enumerate(supernet.body.cells):  # type: ignore[union-attr,arg-type]
        for e, edge in enumerate(cell.edges):  # type: ignore[union-attr,arg-type]
            decision = 14 + e if number in reduction else e
            shared.add(decision)
            watch(edge, decision)
    inputs = images(5)
    supernet(inputs, mixture(rows)).square().sum().backward()
    assert shared == set(range(28))
    for row, found in zip(rows, expected, strict=True):
        assert row.grad is not None
        torch.testing.assert_close(row.grad, found)
        assert row.grad[0] == 0  # zeros are never computed
        assert (row.grad[1:] != 0).all()


def test_masked_is_the_mixture_with_weights_of_zero() -> None:
    for partial in (1, 2):
        supernet, sizes = small_supernet(partial)
        rng = np.random.default_rng(1)
        rows = rows_of(sizes, 2)
        masks = [rng.random(size) < 0.5 for size in sizes]
        for mask in masks:
            mask[3] = True
        zeroed = [row * torch.tensor(mask) for row, mask in zip(rows, masks, strict=True)]
        masked: Gates = tuple(
            Gate(tuple(np.flatnonzero(mask).tolist()), row)
            for row, mask in zip(rows, masks, strict=True)
        )
        listed: Gates = tuple(Gate(tuple(range(len(row))), row) for row in zeroed)
        inputs = images(5)
        with torch.no_grad():
            found = supernet(inputs, masked)
            torch.testing.assert_close(found, supernet(inputs, listed))
            torch.testing.assert_close(found, supernet(inputs, mixture(zeroed)))
            assert not torch.allclose(found, supernet(inputs, mixture(rows)))


def test_masked_operations_are_not_run() -> None:
    supernet, sizes = small_supernet()
    ran = set()
    for name, part in supernet.named_modules():
        part.register_forward_hook(lambda *_, name=name: ran.add(name))
    rows = [torch.zeros(size) for size in sizes]
    for row in rows:
        row[4] = row[3] = 0.5
    supernet(images(2), mixture([r.double() for r in rows]))
    options = {name.split(".options.")[1].split(".")[0] for name in ran if ".options." in name}
    assert options == {"3", "4"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"classes": 0}, "classes must be at least 1, got 0"),
        ({"channels": 1}, "channels must be at least 2, got 1"),
        ({"cells": 2}, "at least 3 cells, got 2"),
        ({"cells": 0, "variant": "unique"}, "cells must be at least 1, got 0"),
        ({"variant": "s5"}, "the variant must be s1, s2, s3, s4 or unique, got 's5'"),
        ({"stem": "mnist"}, "the stem must be cifar or imagenet, got 'mnist'"),
        ({"image": (3, 32)}, "image must be"),
    ],
)
def test_sizes_that_make_no_network_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        darts_space(**arguments)  # type: ignore[arg-type]


def test_supernets_that_cannot_be_are_explained() -> None:
    with pytest.raises(SpaceError, match="multiple of the 4 parts of partial channels, got 6"):
        darts_space(channels=6).supernet(partial=4)
    family = darts_space(2, 4, 3, "unique", (1, 8, 8))
    assert family.supernet(cells=3)
    with pytest.raises(SpaceError, match="all 3 cells, got cells=2"):
        family.supernet(cells=2)


def test_a_child_must_keep_the_rule() -> None:
    family = darts_space(2, 4, 3, image=(1, 8, 8))
    broken = Architecture(("skip_connect",) * 28, "all edges")
    with pytest.raises(SpaceError, match="exactly 2 of the edges"):
        family.child(broken)
    with pytest.raises(SpaceError, match="'noise' is no option"):
        family.child(darts_space(2, 4, 3, "s4").random(0))


def test_norms_of_searched_cells_use_the_batchs_own_statistics() -> None:
    """So that judging a path neither reads nor writes what other paths have left."""
    supernet, sizes = small_supernet()
    gates = mixture([torch.full((size,), 1 / size).double() for size in sizes])
    inputs = images(6)
    with torch.no_grad():
        first = supernet(inputs, gates)
        supernet(inputs * 9 + 4, gates)
        torch.testing.assert_close(supernet.eval()(inputs, gates), first)
