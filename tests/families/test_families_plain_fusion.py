"""Plain networks for several modalities."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from meritnas import SpaceError, UsageError
from meritnas.data.task import Task
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.fusion.plain import PlainFusion, plain_fusion
from meritnas.families.fusion.plain_child import FlatReader, LateAveraging

VIEWS = {"image": [(2, 9, 7)], "video": [(5, 7), (3,)], "table": [(6,)]}
BOTH = ("concatenation(12)", "late-averaging(12)")


class Early(nn.Module):
    """Two features of a sequence beside a vector, the second one shorter."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(5, 4, 3, padding=1)
        self.second = nn.Linear(3, 6)

    def forward(self, sequence: Tensor, vector: Tensor) -> list[Tensor]:
        return [self.first(sequence), self.second(vector)]


def family(**changed: Any) -> PlainFusion:
    asked = {"answers": "classes", "backbones": {"image": "conv"}, "outputs": 3, **changed}
    return plain_fusion(asked.pop("views", VIEWS), **asked)


def rows(of: PlainFusion, count: int = 5) -> Tensor:
    found = torch.randn(count, of.layout.width, generator=torch.Generator().manual_seed(0))
    for number in range(len(of.layout.names)):
        found[:, of.layout.flag(number)] = 1.0
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 60_000), st.integers(0, 200_000))
def test_each_is_the_widest_that_keeps_all_limits(params: int, flops: int) -> None:
    found = family().plain({"params": params, "flops": flops})
    widest = {}
    for way, start in (("concatenation", 4), ("late-averaging", 4)):
        for width in range(start, 1025):
            if not family().fits(f"{way}({width})", {"params": params, "flops": flops}):
                break
            widest[way] = f"{way}({width})"
    assert [one.text for one in found] == list(widest.values())


@pytest.mark.parametrize("text", [*BOTH, "concatenation(4)", "late-averaging(1024)"])
@pytest.mark.parametrize("backbones", [{}, {"image": "conv"}, {"image": "conv", "video": Early}])
def test_costs_are_those_of_the_network(text: str, backbones: dict[str, Any]) -> None:
    one = family(backbones=backbones)
    child = one.child(text)
    assert one.cost(text) == parameters(child)
    counted = multiply_adds(child, (one.layout.width,), device="cpu")
    assert one.cost(text, "flops") == counted


def test_without_a_limit_they_are_as_large_as_what_they_race_with() -> None:
    free, bound = family(), family(most=9_000)
    assert [one.text for one in free.plain({})] == ["concatenation(1024)", "late-averaging(1024)"]
    sized = ["concatenation(16)", "late-averaging(15)"]
    for limits in ({}, {"flops": 10**6}, {"params": 9_000}):
        assert [one.text for one in bound.plain(limits)] == sized
    assert all(9_000 < bound.cost(one) <= 10_000 for one in bound.plain({"params": 10_000}))
    assert bound.plain({"params": 4_000}) == ()
    narrowest = ["concatenation(4)", "late-averaging(4)"]
    assert [one.text for one in family(most=1).plain({})] == narrowest


def test_of_one_modality_there_is_nothing_to_average() -> None:
    one = family(views={"video": [(5, 7), (3,)]}, backbones={})
    assert [each.text for each in one.plain({})] == ["concatenation(1024)"]
    with pytest.raises(SpaceError, match="'late-averaging' is no option"):
        one.child("late-averaging(8)")


def test_concatenation_is_a_layer_on_all_numbers_side_by_side() -> None:
    one = family(backbones={})
    child, inputs = one.child("concatenation(12)").eval(), rows(one)
    flags = [one.layout.flag(number) for number in range(3)]
    numbers = inputs[:, [k for k in range(one.layout.width) if k not in flags]]
    torch.testing.assert_close(child(inputs), child.head(numbers))


@pytest.mark.parametrize(("kind", "answers"), [("multiclass", "classes"), ("multilabel", "labels")])
def test_late_averaging_gives_the_mean_of_the_networks_probabilities(
    kind: Literal["multiclass", "multilabel"], answers: str
) -> None:
    one, task = family(answers=answers), Task(kind, "y", ("a", "b", "c"))
    child = one.child("late-averaging(12)").eval()
    assert isinstance(child, LateAveraging)
    inputs = rows(one)
    each = torch.stack([task.probabilities(said) for said in child.outputs_of_each(inputs)])
    torch.testing.assert_close(task.probabilities(child(inputs)), each.mean(dim=0))


def test_the_mean_of_numbers_is_their_mean() -> None:
    one = family(answers="numbers", outputs=1)
    child = one.child("late-averaging(12)").eval()
    assert isinstance(child, LateAveraging)
    each = torch.stack(child.outputs_of_each(rows(one)))
    torch.testing.assert_close(child(rows(one)), each.mean(dim=0))


@pytest.mark.parametrize("answers", ["classes", "labels", "numbers"])
def test_what_a_sample_lacks_has_no_say(answers: str) -> None:
    one = family(answers=answers)
    child = one.child("late-averaging(12)").eval()
    assert isinstance(child, LateAveraging)
    inputs = rows(one)
    inputs[0, one.layout.flag(0)] = inputs[0, one.layout.flag(1)] = 0.0
    inputs[1, [one.layout.flag(number) for number in range(3)]] = 0.0
    alone = child.outputs_of_each(inputs)[2]
    if answers == "classes":
        alone = torch.log_softmax(alone, dim=1)
    torch.testing.assert_close(child(inputs)[0], alone[0])
    assert child(inputs)[1].isfinite().all()


@pytest.mark.parametrize("text", BOTH)
def test_what_columns_hold_of_a_modality_that_is_not_there_does_not_matter(text: str) -> None:
    one = family()
    child, inputs = one.child(text).eval(), rows(one)
    for number in range(3):
        inputs[:, one.layout.flag(number)] = 0.0
        other = inputs.clone()
        other[:, one.layout.values(number)] += 1.0
        assert torch.equal(child(inputs), child(other))


def test_of_a_backbone_the_last_feature_is_read() -> None:
    one = family(backbones={"image": "conv", "video": Early})
    reader = one.child("concatenation(12)").reader
    assert isinstance(reader, FlatReader)
    assert reader.widths == [32 * 3 * 2, 6, 6]
    (drawing,) = one.drawings("concatenation(12)")
    assert drawing.inputs == ("image.1", "video.1", "table.0")
    large = family(views={"image": [(1, 40, 40)], "table": [(6,)]})
    reader = large.child("concatenation(12)").reader
    assert isinstance(reader, FlatReader)
    assert reader.widths == [32 * 4 * 4, 6]


@pytest.mark.parametrize("text", BOTH)
def test_as_python_it_says_the_same(text: str) -> None:
    one = family()
    child, inputs = one.child(text).eval(), rows(one)
    found: dict[str, Any] = {"__name__": "elsewhere"}
    exec(compile(one.source(text), "network.py", "exec"), found)
    assert "meritnas" not in one.source(text).lower().replace("that meritnas found", "")
    network = found["Network"]()
    network.load_state_dict(child.state_dict())
    assert torch.equal(network.eval()(inputs), child(inputs))
    with pytest.raises(UsageError, match="backbone of 'video' is a function of your own"):
        family(backbones={"video": Early}).source(text)


def test_drawings_read_only_what_comes_before() -> None:
    for text in BOTH:
        (drawing,) = family().drawings(text)
        known = set(drawing.inputs)
        for node in drawing.nodes:
            assert {name for name, _ in node.reads} <= known
            assert node.name not in known
            known.add(node.name)


def test_it_is_raced_with_and_not_searched() -> None:
    with pytest.raises(UsageError, match="trained, not searched"):
        family().supernet()
    with pytest.raises(UsageError, match="no auxiliary head"):
        family().child("concatenation(8)", auxiliary=True)
    with pytest.raises(SpaceError, match=r"written like concatenation\(64\) or late-averaging"):
        family().parse("cell1(a.0, b.0): step1 = sum(x, y)")
    with pytest.raises(SpaceError, match="'3' is no option of decision 'width'"):
        family().child("concatenation(3)")
