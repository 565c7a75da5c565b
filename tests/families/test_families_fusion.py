from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from meritnas.data.modalities.row_layout import RowLayout
from meritnas.errors import SpaceError, UsageError
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.fusion.child import FusionNetwork, grid
from meritnas.families.fusion.convolutions import Convolutions
from meritnas.families.fusion.family import FusionSpace, fusion_space
from meritnas.families.operations import CHILD
from meritnas.space.rule import ABSENT
from meritnas.supernet.gates import Gate, Gates, mixture, one_path, tracked_all

VIEWS = {"image": [(2, 4, 4)], "sound": [(3, 6), (5,)]}


def rows_for(family: FusionSpace, rows: int, seed: int) -> Tensor:
    """Random rows; all modalities are there but the first one of the first sample."""
    found = torch.randn(rows, family.layout.width, generator=torch.Generator().manual_seed(seed))
    for number in range(len(family.layout.names)):
        found[:, family.layout.flag(number)] = 1.0
    found[0, family.layout.flag(0)] = 0.0
    return found


MM_IMDB = {
    "image": [(512, 28, 28), (512, 14, 14), (512, 14, 14), (512, 7, 7)],
    "text": [(64,), (128,)],
}
NTU = {
    "video": [(512, 8, 14), (1024, 8, 7), (2048, 8, 4), (2048,)],
    "skeleton": [(128, 8, 5), (256, 8, 5), (1024, 4, 2), (512,)],
}
EGO = {name: [(512, 9, 9), (1024, 9, 9), (2048, 5, 5), (2048,)] for name in ("rgb", "depth")}

SETTINGS = (
    (MM_IMDB, 23, 2, 1, 192, 16, 482_688, 141_335, 6_144, (13, 2, 1), 33),
    (NTU, 60, 2, 2, 128, 8, 480_512, 122_940, 2_048, (17, 5, 2), 59),
    (EGO, 83, 2, 3, 128, 8, 716_288, 170_067, 2_048, (17, 9, 3), 83),
)


@pytest.mark.parametrize("settings", SETTINGS, ids=["MM-IMDB", "NTU", "EgoGesture"])
def test_the_papers_settings_have_the_known_numbers(settings: tuple) -> None:  # type: ignore[type-arg]
    views, classes, cells, steps, channels, length, fusion, head, wide, table, players = settings
    size = (classes, cells, steps, channels, length)
    old = fusion_space(views, *size, operations="bm-nas", shared=True)
    # All operations of all steps, and what is in every child but features and the last layer.
    with torch.device("meta"):
        bare = old.bare()
    assert parameters(bare.output) == head
    assert bare.output.in_features == wide
    rest = parameters(bare) - parameters(bare.output) - parameters(bare.reader)
    terms = old.costs["params"].single
    assert rest + sum(int(row.sum()) for row in terms) == fusion
    outer, inner, operations = table
    assert [len(t) for t in old.tables] == [outer, *[inner] * cells, *[operations] * cells]
    for group, options in zip(old.tables, (2, *[2] * cells, *[4] * cells), strict=True):
        assert {old.space.sizes[i] for i in group} == {options}
    assert sorted(i for group in old.tables for i in group) == list(range(len(old.options)))
    for shared in (True, False):
        new = fusion_space(views, *size, shared=shared)
        assert len(new.players()) == len(set(new.players())) == players
        assert {new.space.sizes[i] for group in new.tables[-cells:] for i in group} == {8}


def test_spaces_have_as_many_architectures_as_pairs_and_operations() -> None:
    small = {"a": [(2,), (3,)], "b": [(4,)]}
    assert fusion_space(small, 1, 2, 1).space.count() == (3 * 2) * (2 * 8) * (4 * 3) * (2 * 8)
    shared = fusion_space(small, 1, 2, 2, shared=True, operations="sparse")
    assert shared.space.count() == (3 * 4 * 3 * 4) * (6 * 4 * 3 * 4)
    alone = fusion_space(small, 1, 2, 1, shared=True, operations=["sum"], unimodal_only=True)
    assert alone.space.count() == 3 * 3
    six, eight = {"a": [(2,)] * 4, "b": [(2,)] * 2}, {"a": [(2,)] * 8}
    for views, pairs in ((six, 15), (eight, 28)):
        family = fusion_space(views, 1, 1, operations=["sum"], shared=True)
        assert family.space.count() == pairs


def test_decisions_are_named_tagged_and_grouped() -> None:
    family = fusion_space({"a": [(2,)], "b": [(3,)]}, 1, 2, 2, operations=["sum", "sparse_se"])
    names = [decision.name for decision in family.space.decisions]
    assert names[:9] == [
        *("cell1<-a.0", "cell1<-b.0", "cell1.step1<-x", "cell1.step1<-y", "cell1.step1"),
        *("cell1.step2<-x", "cell1.step2<-y", "cell1.step2<-step1", "cell1.step2"),
    ]
    assert names[9:12] == ["cell2<-a.0", "cell2<-b.0", "cell2<-cell1"]
    assert family.nodes[:3] == ((0, 1), (2, 3), (5, 6, 7))
    edge, operation = family.space.decisions[0], family.space.decisions[4]
    assert [(o.name, set(o.tags)) for o in edge.options] == [
        ("none", {"zero", ABSENT}),
        ("x", {"together"}),
        ("y", {"together"}),
    ]
    tags = [(o.name, set(o.tags)) for o in operation.options]
    assert tags == [("sum", {"normal"}), ("sparse_se", {"sparse"})]
    assert family.players()[:6] == (
        *("cell1<-a.0", "cell1<-b.0", "cell1.step1<-x", "cell1.step1<-y"),
        *("cell1.step1=sum", "cell1.step1=sparse_se"),
    )


TEXT = (
    "cell1(image.0, sound.1): step1 = glu(x, y); step2 = sum(step1, x) + "
    "cell2(cell1, sound.0): step1 = sparse_attention(y, x); step2 = concat(x, step1)"
)


def test_texts_say_who_reads_what() -> None:
    family = fusion_space(VIEWS, 1, 2, 2)
    found = family.parse(TEXT)
    assert str(found) == TEXT
    assert family.parse(TEXT.replace(" ", "")) == found
    chosen = dict(zip([d.name for d in family.space.decisions], found.options, strict=True))
    assert {name: option for name, option in chosen.items() if option != "none"} == {
        "cell1<-image.0": "x",
        "cell1<-sound.1": "y",
        "cell1.step1<-x": "x",
        "cell1.step1<-y": "y",
        "cell1.step1": "glu",
        "cell1.step2<-step1": "x",
        "cell1.step2<-x": "y",
        "cell1.step2": "sum",
        "cell2<-cell1": "x",
        "cell2<-sound.0": "y",
        "cell2.step1<-y": "x",
        "cell2.step1<-x": "y",
        "cell2.step1": "sparse_attention",
        "cell2.step2<-x": "x",
        "cell2.step2<-step1": "y",
        "cell2.step2": "concat",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("32-16", r"'32-16' is no fusion network, .* like cell1\(image.0, sound.0\): step1 = sum"),
        (TEXT.replace("cell2(", "cell3("), "is no fusion network"),
        (TEXT.replace("; step2 = sum(step1, x)", ""), "is no fusion network"),
        (TEXT.split(" + ")[0], "is no fusion network"),
        (TEXT.replace("sound.1", "sond.1"), "cell1 cannot read 'sond.1'; did you mean 'sound.1'"),
        (TEXT.replace("sound.1", "cell1"), "cell1 cannot read 'cell1'"),
        (TEXT.replace("glu(x, y)", "glu(x, step1)"), "cell1.step1 cannot read 'step1'"),
        (TEXT.replace("sound.1", "image.0"), "cell1 reads two different inputs, got image.0 twice"),
        (TEXT.replace("glu", "gul"), "'gul' is no option of decision 'cell1.step1'"),
    ],
)
def test_a_wrong_text_is_explained(text: str, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        fusion_space(VIEWS, 1, 2, 2).parse(text)


def test_shared_inputs_are_written_in_their_order() -> None:
    family = fusion_space(VIEWS, 1, 1, shared=True)
    assert str(family.parse("cell1(image.0, sound.0): step1 = sum(x, y)")).startswith("cell1(image")
    with pytest.raises(SpaceError, match=r"write cell1\(image.0, sound.0\)"):
        family.parse("cell1(sound.0, image.0): step1 = sum(x, y)")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"modalities": {"a": [(3,)]}}, "at least 2, got 1"),
        ({"modalities": {}}, "at least 2, got 0"),
        ({"modalities": {"a": []}}, "modality 'a' has no features"),
        ({"modalities": {"a": [(3, 0)], "b": [(2,)]}}, r"a feature of 'a' must .* got \(3, 0\)"),
        ({"modalities": {"a": [(1, 2, 3, 4)]}}, "a feature of 'a' must have shape"),
        ({"modalities": {"a(b": [(2,), (3,)]}}, "the name of a modality must not"),
        ({"modalities": {"": [(2,), (3,)]}}, "the name of a modality must not"),
        ({"outputs": 0}, "outputs must be at least 1, got 0"),
        ({"cells": 0}, "cells must be at least 1"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"channels": 0}, "channels must be at least 1"),
        ({"length": -1}, "length must be at least 1, got -1"),
        ({"kernel": 2}, "kernel must be odd, got 2"),
        ({"l1": -0.1}, "l1 must be at least 0 and finite"),
        ({"l2": float("nan")}, "l2 must be at least 0 and finite"),
        ({"operations": "sprase"}, "got 'sprase'; did you mean 'sparse'"),
        ({"operations": ["glu", "sme"]}, "no fusion operation 'sme'"),
        ({"operations": ["glu", "conact"]}, "did you mean 'concat'"),
        ({"operations": []}, "at least 1"),
        ({"operations": ["sum", "sum"]}, "must be different ones"),
        ({"backbones": {"imag": "conv"}}, "'imag', which is no modality; did you mean 'image'"),
        ({"backbones": {"image": "cnv"}}, "must be 'conv' or a function .* did you mean 'conv'"),
        ({"backbones": {"sound": "conv"}}, r"'sound' has \(3, 6\), \(5,\)"),
        ({"backbones": {"sound": lambda: 3}}, "must make a torch Module, got int"),
        (
            {"modalities": {"a": (5,), "b": [(2,)]}},
            r"'a' must have a list of shapes, .* got \(5,\)",
        ),
        ({"modalities": {"a": [5], "b": [(2,)]}}, r"such as \[\(5,\)\] .* got \[5\]"),
        ({"backbones": {"image": nn.Flatten()}}, "a fresh one at every call, got a Flatten itself"),
        ({"backbones": {"image": lambda: nn.Flatten(0)}}, r"must give tensors .* got \(32,\)"),
    ],
)
def test_wrong_arguments_are_explained(changes: dict[str, object], words: str) -> None:
    arguments = {"modalities": VIEWS, "outputs": 2, **changes}
    with pytest.raises(SpaceError, match=words):
        fusion_space(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"channels": 8.5}, "channels must be a whole number, got 8.5"),
        ({"channels": "8"}, "channels must be a whole number, got '8'"),
        ({"modalities": {"a": [(5.5,)], "b": [(2,)]}}, "a side of a feature of 'a' must .* 5.5"),
    ],
)
def test_sizes_are_whole_numbers(changes: dict[str, object], words: str) -> None:
    arguments = {"modalities": VIEWS, "outputs": 2, **changes}
    with pytest.raises(UsageError, match=words):
        fusion_space(**arguments)  # type: ignore[arg-type]


def test_there_is_no_auxiliary_head() -> None:
    family = fusion_space(VIEWS, 2)
    with pytest.raises(UsageError, match="no auxiliary head"):
        family.child(family.random(0), auxiliary=True)


def by_hand(child: FusionNetwork, features: Sequence[Tensor]) -> Tensor:
    """The network of `TEXT`, written out."""
    image, first_sound, second_sound = features
    one, two = child.cells
    a = one.steps[0]["operation"](image, second_sound)  # type: ignore[index,union-attr]
    b = one.steps[1]["operation"](a, image)  # type: ignore[index,union-attr]
    cell1 = one.norm(one.join(torch.cat([a, b], 1)) + image)  # type: ignore[operator]
    a = two.steps[0]["operation"](first_sound, cell1)  # type: ignore[index,union-attr]
    b = two.steps[1]["operation"](cell1, a)  # type: ignore[index,union-attr]
    cell2 = two.norm(two.join(torch.cat([a, b], 1)) + cell1)  # type: ignore[operator]
    normed = child.norm(torch.cat([cell1, cell2], 1))
    return child.output(torch.relu(normed).flatten(1))


def test_a_child_does_what_its_text_says() -> None:
    family = fusion_space(VIEWS, 3, 2, 2, channels=8, length=4)
    child = family.child(TEXT)
    rows = rows_for(family, 6, 0)
    features = child.reader(rows)
    assert [tuple(feature.shape) for feature in features] == [(6, 8, 4)] * 3
    torch.testing.assert_close(child(rows), by_hand(child, features))


def test_a_child_runs_only_the_features_that_it_reads() -> None:
    family = fusion_space(VIEWS, 3, 1, channels=8, length=4)
    child = family.child("cell1(image.0, sound.1): step1 = sum(x, y)")
    ran = []
    for k, reshape in enumerate(child.reader.reshapes):
        reshape.register_forward_hook(lambda *_, k=k: ran.append(k))
    child(rows_for(family, 3, 0))
    assert ran == [0, 2]


def test_costs_are_those_of_counting_the_child() -> None:
    views = {"image": [(1, 8, 8)], "sound": [(3, 6), (5,)]}
    for shared, operations in ((False, "all"), (True, "bm-nas")):
        family = fusion_space(
            views,
            3,
            2,
            3,
            6,
            4,
            shared=shared,
            operations=operations,  # type: ignore[arg-type]
            backbones={"image": "conv"},
            kernel=3,
        )
        for seed in range(3):
            architecture = family.random(seed)
            child = family.child(architecture)
            assert family.cost(architecture) == parameters(child)
            # All features count, whichever are read.
            everything = multiply_adds(child.reader.to("meta"), (family.layout.width,))
            read = {k for cell in child.cells for k in cell.inputs if k < 4}  # type: ignore[union-attr]
            used = multiply_adds(_Reads(child.reader, sorted(read)), (family.layout.width,))
            found = multiply_adds(child.to("meta"), (family.layout.width,)) + everything - used
            assert family.cost(architecture, "flops") == found


class _Reads(nn.Module):
    def __init__(self, reader: nn.Module, wanted: list[int]) -> None:
        super().__init__()
        self.reader, self.wanted = reader, wanted

    def forward(self, rows: Tensor) -> list[Tensor | None]:
        found: list[Tensor | None] = self.reader(rows, self.wanted)
        return found


def test_vectors_sequences_and_maps_become_the_same_shape() -> None:
    assert [grid(length) for length in (1, 7, 8, 16, 12)] == [
        (1, 1),
        (1, 7),
        (2, 4),
        (4, 4),
        (3, 4),
    ]
    views = {"a": [(3,), (2, 5), (2, 1)], "b": [(1, 9, 7), (2, 1, 1)]}
    for length in (1, 6, 9):
        family = fusion_space(views, 2, 1, channels=4, length=length)
        features = family.child(family.random(0)).reader(rows_for(family, 3, 0))
        assert [tuple(f.shape) for f in features] == [(3, 4, length)] * 5


def test_a_missing_modality_is_zeros_whatever_its_columns_hold() -> None:
    views = {"image": [(1, 8, 8)], "sound": [(3, 6), (5,)]}
    family = fusion_space(views, 3, 2, channels=8, length=4, backbones={"image": "conv"})
    supernet = family.supernet(0)
    architecture = family.parse(
        "cell1(image.1, sound.0): step1 = glu(x, y) + cell2(image.0, sound.1): step1 = se(x, y)"
    )
    child = family.child(architecture)
    rows = rows_for(family, 6, 1)
    assert rows[0, 0] == 0
    gates = mixture([torch.full((size,), 1 / size) for size in family.space.sizes])
    with torch.no_grad():
        before = (child(rows), supernet(rows, gates), child.eval()(rows))
        features = child.reader(rows)
        assert features[0][0].abs().max() == features[1][0].abs().max() == 0
        assert features[0][1].abs().max() > 0
        for value in (7.0, -1e30, float("nan"), float("inf")):
            rows[0, family.layout.values(0)] = value
            after = (child.train()(rows), supernet(rows, gates), child.eval()(rows))
            assert torch.equal(after[0], before[0])
            assert torch.equal(after[1], before[1])
        rows[1, family.layout.values(0)] = 7.0
        assert not torch.equal(supernet(rows, gates), before[1])


def mixed_rows(family: FusionSpace, seed: int = 0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return [
        torch.softmax(torch.from_numpy(rng.normal(size=size)).float(), 0)
        for size in family.space.sizes
    ]


@pytest.mark.parametrize("shared", [False, True])
def test_a_gradient_reaches_every_gate_that_says_something(shared: bool) -> None:
    family = fusion_space(VIEWS, 3, 2, 2, channels=8, length=4, shared=shared)
    supernet = family.supernet(0)
    part = [np.ones(size, dtype=bool) for size in family.space.sizes]
    gates, leaves = tracked_all(mixed_rows(family), part)
    outputs = supernet(rows_for(family, 8, 0), gates)
    (outputs * torch.randn_like(outputs)).sum().backward()
    for decision, leaf in zip(family.space.decisions, leaves, strict=True):
        for k, option in enumerate(decision.options):
            assert (leaf.grad[k] != 0) == (option.name != "none"), (decision.name, option.name)  # type: ignore[index]


@pytest.mark.parametrize("shared", [False, True])
def test_nobody_gives_numbers_and_so_does_anybody(shared: bool) -> None:
    family = fusion_space(VIEWS, 3, 2, 2, channels=8, length=4, shared=shared)
    supernet = family.supernet(0)
    rows = rows_for(family, 8, 0)
    weights = mixed_rows(family)
    for kept in (0.0, 0.1, 0.5):
        rng = np.random.default_rng(0)
        gates = tuple(
            Gate(tuple(k for k in range(len(row)) if rng.uniform() < kept), row) for row in weights
        )
        outputs = supernet(rows, gates)
        assert outputs.isfinite().all()
        if kept == 0:
            # Nothing is read, so all samples are the same.
            # Not to the last bit: where rows end, kernels add up in another order.
            torch.testing.assert_close(outputs, outputs[:1].expand_as(outputs))
            grads = torch.autograd.grad(outputs.sum(), supernet.parameters(), allow_unused=True)
            assert all(g is None or g.isfinite().all() for g in grads)


def test_in_a_shared_mixture_x_and_y_are_the_same_and_in_an_architecture_they_differ() -> None:
    family = fusion_space(VIEWS, 3, 1, channels=8, length=4, operations=["glu"], shared=True)
    supernet = family.supernet(0)
    body = supernet.body
    rows = rows_for(family, 6, 0)
    seen: list[tuple[Tensor, Tensor]] = []
    operation = body.cells[0].steps[0]["operation"].options["0"]  # type: ignore[index,union-attr]
    operation.register_forward_hook(lambda _, read, __: seen.append(read))  # type: ignore[union-attr]
    features = body.reader(rows)  # type: ignore[operator]
    weights = mixed_rows(family)
    supernet(rows, mixture(weights))
    x = sum(w[1] * f for w, f in zip(weights[:3], features, strict=True))
    torch.testing.assert_close(seen[-1][0], x * (weights[3][1] + weights[4][1]))
    assert seen[-1][0] is seen[-1][1]
    picks = (0, 1, 1, 1, 1, 0)
    listed = tuple(
        Gate(tuple(range(size)), torch.eye(size)[pick])
        for size, pick in zip(family.space.sizes, picks, strict=True)
    )
    for gates in (one_path(picks), listed):
        supernet(rows, gates)
        torch.testing.assert_close(seen[-1][0], features[1])
        torch.testing.assert_close(seen[-1][1], features[2])


def test_a_memory_runs_each_thing_once() -> None:
    family = fusion_space(VIEWS, 3, 2, channels=8, length=4)
    supernet = family.supernet(0)
    cells = supernet.body.cells
    ran: list[str] = []
    for k, reshape in enumerate(supernet.body.reader.reshapes):  # type: ignore[arg-type,union-attr]
        reshape.register_forward_hook(lambda *_, k=k: ran.append(f"feature {k}"))
    for number, cell in enumerate(cells):  # type: ignore[arg-type]
        for k, option in cell.steps[0]["operation"].options.items():
            option.register_forward_hook(lambda *_, n=number, k=k: ran.append(f"{n}.{k}"))
    rows, weights = rows_for(family, 5, 0), mixed_rows(family)
    everybody = tuple(Gate(tuple(range(len(row))), row) for row in weights)

    def without(decision: int, *options: int) -> Gates:
        gates = list(everybody)
        kept = tuple(k for k in gates[decision].active if k not in options)
        gates[decision] = Gate(kept, weights[decision])
        return tuple(gates)

    first, second = family.plans[0].steps[0].operation, family.plans[1].steps[0].operation
    changes = [
        (
            everybody,
            {"feature 0", "feature 1", "feature 2"}
            | {f"{n}.{k}" for n in (0, 1) for k in range(8)},
        ),
        (everybody, set()),
        (without(second, 3), set()),
        (without(second, 3, 5), set()),
        (without(0, 0), set()),  # an edge's absence is no part of anything
        (without(first, 2), {f"1.{k}" for k in range(8)}),
        (without(family.plans[1].edges[0], 1, 2), {f"1.{k}" for k in range(8)}),
        (without(0, 1, 2), {f"{n}.{k}" for n in (0, 1) for k in range(8)}),
    ]
    with torch.no_grad():
        plain = [supernet(rows, gates) for gates, _ in changes]
        with supernet.remembering():
            for (gates, expected), outputs in zip(changes, plain, strict=True):
                ran.clear()
                assert torch.equal(supernet(rows, gates), outputs)
                assert len(ran) == len(set(ran))
                assert set(ran) == expected


def test_a_trained_supernets_path_equals_its_child() -> None:
    family = fusion_space(VIEWS, 3, 2, channels=8, length=4, operations="sparse")
    supernet = family.supernet(0)
    rows = rows_for(family, 8, 0)
    optimizer = torch.optim.Adam(supernet.parameters(), 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        supernet(rows, mixture(mixed_rows(family))).square().sum().backward()
        optimizer.step()
    picks = family.space.picks(family.random(1))
    child = family.child(family.space.architecture(picks))
    child.load_state_dict(supernet.extract(picks))
    with torch.no_grad():
        torch.testing.assert_close(child(rows), supernet(rows, one_path(picks)))


class Halves(nn.Module):
    """A user's backbone: both features of a modality, and a vector of weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(5, 4)

    def forward(self, sequence: Tensor, vector: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return sequence[:, :, ::2], self.map(vector), vector[:, None, None, :]


def test_a_users_backbone_is_part_of_the_network() -> None:
    family = fusion_space(VIEWS, 3, 1, channels=8, length=4, backbones={"sound": Halves})
    assert [f.shape for f in family.features] == [(2, 4, 4), (3, 3), (4,), (1, 1, 5)]
    assert family.sources == ("image.0", "sound.0", "sound.1", "sound.2", "cell1")
    architecture = family.parse("cell1(sound.1, sound.2): step1 = concat(x, y)")
    child = family.child(architecture, seed=3)
    assert family.cost(architecture) == parameters(child)
    assert torch.equal(
        child.reader.backbones["1"].map.weight, _weight(family.child(architecture, 3))
    )
    supernet = family.supernet(1)
    picks = family.space.picks(architecture)
    child.load_state_dict(supernet.extract(picks))
    rows = rows_for(family, 4, 0)
    with torch.no_grad():
        torch.testing.assert_close(child(rows), supernet(rows, one_path(picks)))
    assert not torch.equal(_weight(child), _weight(family.child(architecture, 3)))


def _weight(child: FusionNetwork) -> Tensor:
    weight = child.reader.backbones["1"].map.weight
    assert isinstance(weight, Tensor)
    return weight


def test_the_small_backbone_gives_the_shapes_that_it_says() -> None:
    for image in ((1, 8, 8), (3, 5, 7), (2, 1, 1)):
        found = Convolutions(image, CHILD)(torch.randn(2, *image))
        assert tuple(tuple(f.shape[1:]) for f in found) == Convolutions.shapes(image)


def test_a_supernet_may_be_narrower_and_dropout_is_for_children() -> None:
    family = fusion_space(VIEWS, 3, 2, 2, channels=8, length=4)
    narrow = family.supernet(0, channels=4)
    gates = one_path(family.space.picks(family.random(0)))
    assert narrow(rows_for(family, 3, 0), gates).shape == (3, 3)
    assert all(m.p == 0 for m in narrow.modules() if isinstance(m, nn.Dropout))
    plain, dropped = (family.child(TEXT, dropout=rate) for rate in (0.0, 0.3))
    assert list(plain.state_dict()) == list(dropped.state_dict())
    rows = rows_for(family, 5, 0)
    assert not torch.equal(dropped(rows), dropped(rows))
    assert torch.equal(dropped.eval()(rows), dropped(rows))


def test_the_layout_is_that_of_the_rows() -> None:
    family = fusion_space(VIEWS, 1)
    assert family.layout == RowLayout((("image", ((2, 4, 4),)), ("sound", ((3, 6), (5,)))))
    assert family.layout.width == 1 + 32 + 1 + 18 + 5
