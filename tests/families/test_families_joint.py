"""Networks of cells and heads."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.export import Dim

from meritnas import Fusion, SpaceError, fusion_space
from meritnas.errors import InfeasibleError
from meritnas.families.counting import multiply_adds
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.fusion.joint import JointSpace, joint_space
from meritnas.families.fusion.plain import plain_fusion
from meritnas.families.fusion.plain_child import Answers
from meritnas.settings.preset import Facts
from meritnas.supernet.gates import one_path, tracked

VIEWS = {"image": [(1, 9, 7)], "sound": [(3, 6), (5,)]}
CELLS = "cell1(image.1, sound.0): step1 = glu(x, y)"


def family(answers: Answers = "classes", **changed: Any) -> JointSpace:
    sizes: dict[str, Any] = {"cells": 1, "channels": 8, "length": 4, "outputs": 3}
    sizes |= {"backbones": {"image": "conv"}, **changed}
    return joint_space(fusion_space(VIEWS, **sizes), (5, 7), answers)


def rows(of: JointSpace, count: int = 6) -> Tensor:
    """The first sample lacks the first modality, the second one both."""
    layout = of.layout
    found = torch.randn(count, layout.width, generator=torch.Generator().manual_seed(0))
    for number in range(2):
        found[:, layout.flag(number)] = 1.0
        found[1, layout.flag(number)] = 0.0
    found[0, layout.flag(0)] = 0.0
    return found


@pytest.mark.parametrize("answers", ["classes", "labels", "numbers"])
def test_averaging_single_networks_and_concatenation_are_members(answers: Answers) -> None:
    own = family(answers)
    plain = plain_fusion(VIEWS, 3, answers, {"image": "conv"})
    for text, other in (
        ("mean-each(image: 5, sound: 5)", "late-averaging(5)"),
        ("sum(all=7)", "concatenation(7)"),
    ):
        child, known = own.child(text).eval(), plain.child(other, seed=1).eval()
        assert own.cost(text) == plain.cost(other)
        weights = known.state_dict()
        child.load_state_dict(
            {name.replace("head.", "heads.all."): w for name, w in weights.items()}
        )
        torch.testing.assert_close(child(rows(own)), known(rows(own)))
    late, known = own.child("mean-each(image: 5, sound: 5)", 3), plain.child("late-averaging(5)", 3)
    late.load_state_dict(known.state_dict())
    each = zip(late.outputs_of_each(rows(own)), known.outputs_of_each(rows(own)), strict=True)
    for one, other_one in each:
        torch.testing.assert_close(one, other_one)


def test_networks_without_heads_are_those_of_the_space_of_cells() -> None:
    own = family()
    child, known = own.child(CELLS).eval(), own.fusion.child(CELLS, seed=1).eval()
    child.load_state_dict(known.state_dict())
    torch.testing.assert_close(child(rows(own)), known(rows(own)))
    for name in ("params", "flops"):
        assert own.cost(CELLS, name) == own.fusion.cost(CELLS, name)


def test_no_network_is_in_the_space_twice() -> None:
    own = family(cells=1, operations=["sum", "glu"], backbones={})
    every = np.array(list(itertools.product(*map(range, own.space.sizes))))
    valid = every[own.space.valid(every)]
    cells = own.fusion.space.count()
    heads, alone = 3**3, 3 * 2  # three heads, each absent or one of two widths
    expected = cells * (1 + 4 * (heads - 1)) + alone + 4 * (heads - 1 - alone)
    assert len(valid) == own.space.count() == expected
    texts = {str(own.space.architecture(row)) for row in valid}
    assert len(texts) == expected
    assert all(str(own.parse(text)) == text for text in texts)


def test_multiply_adds_are_those_of_the_network() -> None:
    own = family(cells=2)
    read = own.fusion.layout.width
    heads = "sum-each(image: 5, sound: 7, all=5)"
    counted = multiply_adds(own.child(heads), (read,), device="cpu")
    assert own.cost(heads, "flops") == counted
    cells = str(own.fusion.random(0))
    backbone = multiply_adds(own.child(heads).reader.backbones["0"], (1, 9, 7), device="cpu")
    both = own.cost(f"{cells} + {heads}", "flops")
    assert both == own.fusion.cost(cells, "flops") + counted - backbone


def test_a_limit_below_all_cells_leaves_networks_of_heads() -> None:
    own = family()
    limits = {"params": own.cost("sum(sound: 7)")}
    with pytest.raises(InfeasibleError):
        own.fusion.within(limits)
    found = own.within(limits)
    rows = [np.zeros(size) for size in found.space.sizes]
    texts = {str(one) for one in found.sample(rows, 40, 0)}
    assert texts == {"sum(sound: 5)", "sum(sound: 7)"}
    smaller = own.restrict(found.reachable())
    assert smaller.within(limits).count() == found.count() == 2


def test_a_graph_takes_any_number_of_rows() -> None:
    own = family()
    child = own.child(f"{CELLS} + mean(image: 5, all=7)").eval()
    graph = torch.export.export(child, (rows(own),), dynamic_shapes=({0: Dim("n")},)).module()
    for count in (2, 11):
        torch.testing.assert_close(graph(rows(own, count)), child(rows(own, count)))


def test_what_a_sample_lacks_says_nothing() -> None:
    own = family()
    sums, mean = (own.child(f"{way}(image: 5, sound: 7)", 2).eval() for way in ("sum", "mean"))
    given = rows(own)
    said = mean.outputs_of_each(given)
    assert len(said) == 1  # no head learns by itself
    alone = own.child("sum(sound: 7)").eval()
    for child in (sums, mean):
        weights = {n: w for n, w in child.state_dict().items() if "heads.0" not in n}
        alone.load_state_dict(weights)
        heard = alone(given)[0]
        found = child(given)[0]
        expected = heard if child is sums else torch.log_softmax(heard, 0)
        torch.testing.assert_close(found, expected)
    assert sums(given)[1].abs().max() == 0
    assert mean(given)[1].isfinite().all()


@pytest.mark.parametrize(
    ("way", "losses"), [("sum", 1), ("mean", 1), ("sum-each", 4), ("mean-each", 4)]
)
def test_what_has_a_loss_of_its_own(way: str, losses: int) -> None:
    own = family()
    child = own.child(f"{CELLS} + {way}(image: 5, sound: 5, all=7)").eval()
    each = child.outputs_of_each(rows(own))
    assert len(each) == losses
    together = child(rows(own))
    if way != "mean-each":
        torch.testing.assert_close(each[0], together)
        return
    mean = torch.stack([torch.softmax(one, 1) for one in each]).mean(0)
    torch.testing.assert_close(torch.softmax(together, 1)[2:], mean[2:])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (f"{CELLS} + mean(image: 6)", "'6' is no option of decision 'head\\(image\\)'"),
        (f"{CELLS} + mean(imag: 5)", "did you mean 'image'"),
        (f"{CELLS} + mean(all: 5)", "like all=32"),
        ("mean(image: 5)", "one part alone is joined by sum"),
        (f"{CELLS} + mean(image 5)", "has no head 'image 5'"),
    ],
)
def test_a_wrong_text_is_told_what_is_wrong(text: str, part: str) -> None:
    with pytest.raises(SpaceError, match=part):
        family().parse(text)


def test_a_modality_may_have_any_name() -> None:
    own = joint_space(fusion_space({"all": [(3,)], "mean 1": [(2,)]}, 2, channels=8), (5,))
    for seed in range(20):
        one = own.random(seed)
        assert own.parse(str(one)) == one
    text = "mean(all: 5, mean 1: 5, all=5)"
    assert str(own.parse(text)) == text


def test_drawings_have_cells_and_heads() -> None:
    own = family()
    (found,) = own.drawings(f"{CELLS} + mean(sound: 5, all=7)")
    names = [node.name for node in found.nodes]
    assert names == ["cell1.step1", "cell1", "cells", "head sound", "head all", "output"]
    assert found.nodes[-1].reads == (("cells", ""), ("head sound", ""), ("head all", ""))
    assert found.nodes[-1].joined == "mean"
    read = dict(found.nodes[-2].reads)
    assert set(read) == {"image.1", "sound.0", "sound.1"}  # of a backbone the last
    (late,) = own.drawings("sum(image: 5)")
    assert [node.name for node in late.nodes] == ["head image", "output"]
    assert own.short(f"{CELLS} + mean(sound: 5)") == "glu(image.1, sound.0) mean(sound: 5)"
    assert "".join(own.lines(f"{CELLS} + sum(all=5)")) == f"{CELLS} + sum(all=5)"


class Views:
    """A picture of 28 by 28 pixels beside a vector."""

    modalities: ClassVar = {"image": [(1, 28, 28)], "sound": [(5,)]}
    pictures = ("image",)


def built(limits: dict[str, int], **options: Any) -> Any:
    return Fusion(channels=8, cells=2, **options).build(Views(), 3, limits)


def test_pictures_keep_sixteen_positions_where_limits_allow_it() -> None:
    assert built({}).fusion.length == 16
    large = built({}, heads=False)
    assert isinstance(large, FusionSpace)
    cheapest = min(large.cost(large.random(seed)) for seed in range(30))
    assert built({"params": 2 * cheapest}).fusion.length == 16
    assert built({"params": cheapest}).fusion.length == 4
    assert built({"params": cheapest}, length=9).fusion.length == 9


def test_heads_are_there_unless_memory_is_limited_or_somebody_says_no() -> None:
    assert isinstance(built({}), JointSpace)
    assert isinstance(built({"peak": 10**6}), FusionSpace)
    assert isinstance(built({}, heads=False), FusionSpace)
    assert built({}).spec.build(Views(), 3, {}) == built({})
    (told,) = Fusion().remarks({"peak": 10**6})
    assert "--no-heads" in told
    assert Fusion().remarks({"params": 10**6}) == Fusion(heads=False).remarks({"peak": 1}) == ()
    with pytest.raises(SpaceError, match="search without heads"):
        built({"peak": 10**6}, heads=True).within({"peak": 10**6})


def test_the_papers_space_has_no_heads_and_two_steps() -> None:
    facts = Facts("modalities", 1000, parts=2)
    paper, quick = (Fusion().preset(name, facts, 1).space for name in ("paper", None))
    assert (paper.heads, paper.sparsity, paper.fista_steps, paper.length) == (False, 0.1, 2, 16)
    assert (quick.heads, quick.sparsity, quick.fista_steps, quick.length) == (None, 1.0, 5, None)


def test_gates_of_a_sum_have_the_gradient_of_their_part() -> None:
    """AdvantageNAS, eq. 7: the derivative by a gate is <dL/dO, O>."""
    own = family(backbones={})
    supernet = own.supernet(0)
    picks = own.space.picks(own.parse("sum(image: 5, sound: 5)"))
    gates, leaves = tracked(picks, own.space.sizes)
    given = rows(own)[2:]
    supernet(given, gates).sum().backward()
    number = own.space.names.index(["none", "5", "7"])
    gate = leaves[number].grad
    assert gate is not None
    alone = own.space.picks(own.parse("sum(sound: 5)"))
    with torch.no_grad():
        part = supernet(given, gates) - supernet(given, one_path(alone))
    torch.testing.assert_close(gate[picks[number]], part.sum())
