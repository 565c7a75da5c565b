"""Networks for tables whose columns enter in ways of their own."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from safetensors.torch import save

from meritnas import RichTabular, TableInputs, Tabular
from meritnas.errors import UsageError
from meritnas.families.rich_tabular.child import Shortcut
from meritnas.families.rich_tabular.entries import Entry, entries_of
from meritnas.families.rich_tabular.family import RichTabularSpace
from meritnas.families.rich_tabular.parts import OneHot, Ordered, Periodic, simplex
from meritnas.space.architecture import Architecture

FEW = ((), (-0.5, 0.5), (0.1,))
COLUMNS = TableInputs(
    4, (3, 7, 3), names=("age", "grade", "sex", "age_missing", "a", "b", "c"), thresholds=FEW
)


def family_of(columns: TableInputs = COLUMNS, **options: Any) -> RichTabularSpace:
    sizes = {"layers": 2, "widths": (3, 6)}
    return RichTabular(**{**sizes, **options}).build(columns, 2, {})


def ways_of(entries: tuple[Entry, ...]) -> dict[str, list[str]]:
    return {entry.name: [way.option for way in entry.ways] for entry in entries}


def multiply_adds(family: RichTabularSpace, architecture: Architecture) -> int:
    """What torch counts while a child answers for one row."""
    with torch.device("meta"):
        child = family.child(architecture)
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counted:
        child(*family.running(child, "meta").inputs)
    return int(counted.get_total_flops()) // 2


def test_each_column_enters_in_ways_that_suit_it() -> None:
    periodic = ["periodic2", "periodic4", "periodic8"]
    assert ways_of(entries_of(COLUMNS, (2, 4, 8), 16)) == {
        "input age": ["plain", *periodic],
        "input grade": ["plain", "ordered", *periodic],  # of three values
        # `sex` has two values, and `age_missing` says nothing but that something is missing
        "input a and 1 more": ["embed1", "onehot"],
        "input b": ["embed1", "embed2", "embed4", "onehot"],
    }


def test_many_columns_decide_in_groups_of_neighbours() -> None:
    many = TableInputs(40, tuple(range(3, 33)))
    found = ways_of(entries_of(many, (4,), 3))
    numbers = [name for name, ways in found.items() if ways[0] == "plain"]
    assert numbers == ["input 1 and 13 more", "input 15 and 12 more", "input 28 and 12 more"]
    assert len(found) - 3 <= 4  # by the usual sizes of embeddings, of which there are few


def test_decisions_have_names_of_their_own_that_can_be_printed() -> None:
    names = ("width1\nx", "width1 x", "z" * 100)
    found = entries_of(TableInputs(3, names=names), (2,), 16)
    assert [entry.name for entry in found] == [
        "input width1 x",
        "input width1 x (2)",
        "input " + "z" * 40,
    ]


def test_there_is_less_to_decide_where_fewer_weights_may_be() -> None:
    columns = TableInputs(20)
    spec = RichTabular()

    def decided(**limits: int) -> tuple[int, tuple[int, ...]]:
        layout = spec.build(columns, 1, limits).layout
        return len(layout.entries), layout.members

    assert decided(params=500) == (1, (1,))
    assert decided(params=4_000) == (4, (1, 2))
    assert decided(params=16_000) == (16, (1, 2, 4))
    assert decided(size=18_000) == decided(params=4_000)
    assert decided(flops=500) == decided() == (16, (1, 2, 4))


def test_costs_are_those_of_every_network_that_there_is() -> None:
    family = family_of(TableInputs(2, (4,), thresholds=((), (0.0, 1.0))), frequencies=(2,))
    every = [
        family.space.architecture(picks)
        for picks in product(*map(range, family.space.sizes))
        if family.space.valid(np.array([picks]))[0]
    ]
    assert len(every) == family.space.count() == 540
    for architecture in every[::5]:
        child = family.child(architecture)
        assert family.cost(architecture) == sum(p.numel() for p in child.parameters())
        assert family.cost(architecture, "flops") == multiply_adds(family, architecture)
        about = {"architecture": architecture.text, "threshold": "0.123456789012345678"}
        stored = len(save(child.state_dict(), about))
        assert stored <= family.cost(architecture, "size") <= stored + 700
    costs = sorted(map(family.cost, every))
    for limit in (costs[0], costs[100], costs[-1]):
        wanted = sum(cost <= limit for cost in costs)
        assert family.feasible(max_params=limit).count() == wanted


def test_the_plain_network_is_that_of_the_plain_space() -> None:
    for limit in (500, 3_000):
        limits = {"params": limit}
        rich, plain = (kind(2, (8, 16, 32)) for kind in (RichTabular, Tabular))
        (found,) = rich.build(COLUMNS, 3, limits).plain(limits)
        family = plain.build(COLUMNS, 3, limits)
        (expected,) = family.plain(limits)
        own = rich.build(COLUMNS, 3, limits)
        assert own.cost(found) == family.cost(expected)
        assert own.short(found) == expected.text
    assert family_of(widths=((3,), (5,))).plain({}) == ()


def test_networks_are_told_in_words() -> None:
    family = family_of()
    text = "3-periodic4-ordered-onehot-embed2-2-yes-6-yes"
    assert family.short(text) == (
        "3-6, shortcut at layer 2, 2 members, age periodic4, grade ordered, a and 1 more onehot"
    )
    read = 4 + 8 + 2 + 2 + 2
    assert family.layers(text) == (
        ("inputs", read),
        ("layer 1", 3),
        ("layer 2", 6),
        ("outputs", 2),
    )
    assert family.parse("3-plain-plain-onehot-embed2-1-no-_-_").options[-2:] == ("3", "no")


@pytest.mark.parametrize("seed", range(4))
def test_source_computes_what_the_child_does_and_needs_torch_alone(seed: int) -> None:
    family = family_of()
    architecture = family.random(seed)
    child, names = family.child(architecture, seed=1), {"__name__": "model"}
    source = family.source(architecture)
    assert "meritnas" not in source.split('"""')[2]
    exec(compile(source, "model.py", "exec"), names)
    network: Any = names["Network"]()  # type: ignore[operator]
    network.load_state_dict(child.state_dict())
    rows = torch.tensor([[0.3, -1.0, 1.0, 0.0, 2.0, 6.0, 0.0], [1.0, 0.5, 0.1, 1.0, 0.0, 1.0, 1.0]])
    assert torch.equal(network(rows), child(rows))


def test_dropout_is_for_training() -> None:
    family = family_of()
    text = "6-plain-plain-onehot-embed2-2-yes-6-no"
    child, rows = family.child(text, dropout=0.5), torch.rand(20, 7).round()
    plain = family.child(text)
    assert not torch.equal(child(rows), plain(rows))
    assert torch.equal(child.eval()(rows), plain(rows))


def test_a_latency_is_the_sum_of_parts_that_were_timed() -> None:
    family = family_of(widths=(3, 6), frequencies=(2,), members=(1, 2)).timed()
    short = family.cost("3-plain-plain-onehot-embed1-1-no-_-_", "latency")
    long = family.cost("3-periodic2-ordered-onehot-embed1-2-yes-6-yes", "latency")
    assert 0 < short < long
    assert family.feasible(max_latency_ms=short / 1000).share() < 1


def test_periodic_features_are_sines_and_cosines_of_their_columns() -> None:
    part = Periodic([2, 0], 2, width=5)
    rows = torch.randn(6, 3)
    (found,) = part.together(rows, [part.tensors()])
    for k, (column, c) in enumerate(zip([2, 0, 2, 0], part.frequencies, strict=True)):
        angle = 2 * torch.pi * c * rows[:, column]
        torch.testing.assert_close(found[:, 2 * k], angle.sin())
        torch.testing.assert_close(found[:, 2 * k + 1], angle.cos())


def test_ordered_numbers_reach_thresholds() -> None:
    part = Ordered([1], [(-0.5, 0.5)], width=2)
    rows = torch.tensor([[9.0, -1.0], [9.0, 0.0], [9.0, 0.5], [9.0, 3.0]])
    (found,) = part.together(rows, [part.tensors()])
    assert found.tolist() == [[0, 0], [1, 0], [1, 1], [1, 1]]


@given(some.integers(2, 12))
def test_corners_of_a_simplex_are_all_as_far_from_each_other(corners: int) -> None:
    rows = simplex(corners)
    assert rows.shape == (corners + 1, corners - 1)
    assert not rows[0].any()
    torch.testing.assert_close(rows[1:].sum(0), torch.zeros(corners - 1), atol=1e-5, rtol=0)
    apart = torch.cdist(rows[1:], rows[1:]) + 9 * torch.eye(corners)
    apart = apart[apart < 9]
    torch.testing.assert_close(apart, apart[:1].expand(len(apart)), atol=1e-4, rtol=0)
    torch.testing.assert_close(rows[1:].square().mean(0), torch.ones(corners - 1))


def test_one_hot_codes_without_weights_tell_all_categories_apart() -> None:
    part = OneHot([0], 5, width=3)
    (found,) = part.together(torch.arange(5.0)[:, None], [part.tensors()])
    assert torch.linalg.matrix_rank(torch.cat([found[1:], torch.ones(4, 1)], 1)) == 4
    assert [name for name, _ in part.named_parameters()] == ["weight"]
    (alone,) = OneHot.together(torch.tensor([[0.0], [1.0]]), [OneHot([0], 2, 3).tensors()])
    assert alone.tolist() == [[0], [1]]


def test_shortcuts_add_as_much_as_there_is_room_for() -> None:
    add, ones = Shortcut(), torch.ones
    assert add(ones(1, 3), ones(1, 2)).tolist() == [[2, 2]]
    assert add(ones(1, 2), ones(1, 3)).tolist() == [[2, 2, 1]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"members": ()}, r"members must be numbers from 1 to 32, got \[\]"),
        ({"members": (0, 2)}, r"members must be numbers from 1 to 32, got \[0, 2\]"),
        ({"frequencies": (2, 65)}, r"frequencies must be numbers from 0 to 64"),
        ({"layers": 0}, "layers must be at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RichTabular(**options)


def test_lists_of_widths_say_how_many_layers_there_may_be() -> None:
    family = family_of(layers=None, widths=((4,), (5,), (6, 7)), frequencies=(0,), members=(1,))
    assert [len(widths) for widths in family.layout.widths] == [1, 1, 2]
    assert family.space.decisions[-1].name == "shortcut3"
