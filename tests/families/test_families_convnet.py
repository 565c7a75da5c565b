from __future__ import annotations

import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from meritnas import Convnet, ConvnetSpace, convnet_space
from meritnas.errors import SpaceError, UsageError
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.counting import multiply_adds
from meritnas.supernet.gates import one_path

SMALL = convnet_space(3, (1, 8, 8), ("plain3", "inverted3x2"), ((4, 8), (4, 8), (8, 12)))
LARGE = convnet_space(10, (1, 28, 28))
PLAIN = "28x28 plain3(32x2) plain3(64x2) plain3(128x1)"


def test_the_plain_network_is_a_member() -> None:
    # Five 3x3 convolutions with batch norms and a linear layer, counted by hand.
    convs = 9 * (1 * 32 + 32 * 32 + 32 * 64 + 64 * 64 + 64 * 128)
    norms = 2 * (32 + 32 + 64 + 64 + 128)
    assert LARGE.cost(PLAIN) == convs + norms + 128 * 10 + 10 == 140_458
    assert sum(p.numel() for p in LARGE.child(PLAIN).parameters()) == 140_458


def test_the_build_function_keeps_its_word() -> None:
    SMALL.origin.check(SMALL)


def everything(family: ConvnetSpace) -> np.ndarray:
    """All combinations of options that keep the rule, by its words."""
    found = []
    decisions = family.space.decisions
    for picks in itertools.product(*map(range, family.space.sizes)):
        answers = dict(zip([d.name for d in decisions], picks, strict=True))
        absent = answers["stage3"] == 0
        unused = [answers[name] for name in ("depth3", "block3", "width3")]
        if not (absent and any(unused)):
            found.append(picks)
    return np.array(found)


def test_every_network_is_there_once() -> None:
    found = everything(SMALL)
    assert SMALL.space.count() == len(found)
    assert SMALL.space.valid(found).all()
    texts = {str(SMALL.space.architecture(row)) for row in found}
    assert len(texts) == len(found)
    for text in sorted(texts)[::50]:
        assert str(SMALL.parse(text)) == text


@pytest.mark.parametrize("cost", ["params", "flops", "size"])
@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.97])
def test_the_feasible_set_is_what_enumeration_finds(cost: str, place: float) -> None:
    found = everything(SMALL)
    costs = SMALL.costs[cost].of(found)
    limit = int(np.quantile(costs, place))
    feasible = SMALL.within({cost: limit})
    assert feasible.exact
    assert feasible.count() == int((costs <= limit).sum())
    largest = feasible.k_best([np.arange(n) * 1.0 for n in SMALL.space.sizes], 5)
    assert all(SMALL.cost(one, cost) <= limit for one in largest)


@pytest.mark.parametrize("seed", range(12))
def test_multiply_adds_are_those_of_the_child_at_its_own_size(seed: int) -> None:
    family = convnet_space(5, (3, 20, 28))
    one = family.random(seed)
    with torch.device("meta"):
        child = family.child(one)
    assert family.cost(one, "flops") == multiply_adds(child, (3, 20, 28))


def test_a_large_space_is_counted_exactly() -> None:
    feasible = LARGE.feasible(max_params=150_000)
    assert feasible.exact
    assert 10**7 < feasible.count() < LARGE.space.count()
    drawn = feasible.sample([np.zeros(n) for n in LARGE.space.sizes], 200, 0)
    assert max(map(LARGE.cost, drawn)) <= 150_000
    assert feasible.admits(LARGE.parse(PLAIN))


def test_images_are_offered_at_smaller_sizes_and_scaled_within_the_network() -> None:
    assert LARGE.options[0] == ("28x28", "20x20", "14x14")
    small = LARGE.options[0][-1]
    child = LARGE.child(PLAIN.replace("28x28", small)).eval()
    assert child(torch.randn(2, 1, 28, 28)).shape == (2, 10)
    assert LARGE.cost(PLAIN.replace("28x28", small), "flops") < LARGE.cost(PLAIN, "flops") / 2
    assert LARGE.cost(PLAIN.replace("28x28", small)) == LARGE.cost(PLAIN)


def test_tiny_images_get_few_stages_and_small_kernels() -> None:
    family = convnet_space(2, (1, 4, 4))
    assert family.layout.stages == 2
    assert family.options[0] == ("4x4",)
    assert "plain5" in family.options[2]
    assert "plain5" not in family.options[5]


def test_a_stage_that_is_absent_costs_nothing_and_is_not_run() -> None:
    short = SMALL.parse("8x8 plain3(4x1) plain3(4x1)")
    run = SMALL.supernet(0).blocks(one_path(SMALL.space.picks(short)))
    weights = dict(SMALL.child(short).named_parameters())
    shared = [weights[name] for name in weights if ".norm." not in name]
    assert sorted(run.values()) == sorted(tuple(weight.shape) for weight in shared)
    assert SMALL.cost(short) == sum(weight.numel() for weight in weights.values())


def test_weights_of_runs_before_networks_came_from_a_build_function_are_still_read() -> None:
    family, text = LARGE, "20x20 residual3se(8x2) plain3(16x1) inverted3x2(32x1)"
    child = family.child(text)
    before = {
        re.sub(r"^((?:rest\.)+)blocks\.(\d+)\.", _old_block, name).replace("rest.", ""): tensor
        for name, tensor in child.state_dict().items()
    }
    assert {"stage1block2.conv1.conv.weight", "stage3block1.each.norm.bias"} <= set(before)
    assert "output.weight" in before
    child.load_state_dict(family.own_weights(text, before))
    child.load_state_dict(family.own_weights(text, child.state_dict()))


def _old_block(found: re.Match[str]) -> str:
    return f"stage{found[1].count('rest')}block{int(found[2]) + 1}."


@pytest.mark.parametrize(
    "text",
    ["8x8 plain3(4x1)", "8x8 plain3(4)", "9x9 plain3(4x1) plain3(4x1)", "", "8x8 plain7(4x1)"],
)
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(SpaceError):
        SMALL.parse(text)


def test_more_stages_than_there_are_are_refused_with_an_example() -> None:
    text = "8x8" + " plain3(4x1)" * 4
    with pytest.raises(SpaceError, match=r"at most 3 stages, .* like 28x28 plain3\(32x2\)"):
        SMALL.parse(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": "plain3,plain4"}, "no block 'plain4'.* there are plain3"),
        ({"blocks": "plain3,plain3"}, "blocks must differ"),
        ({"widths": ((4,),) * 5}, "at most 4 stages"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Convnet(**options)  # type: ignore[arg-type]


def test_a_spec_builds_what_it_says_and_a_family_knows_its_spec() -> None:
    spec = Convnet("plain3,residual3", ((4, 8), (8, 16)))
    family = spec.build((3, 16, 16), 4, {})
    assert family.layout.stages == 2
    assert family.spec == spec
    assert set(family.options[2]) == {"plain3", "residual3"}
    assert Convnet(widths=(8, 16)).build((3, 16, 16), 4, {}).options[3] == ("8", "16")


@pytest.mark.parametrize("block", list(BLOCKS))
def test_a_network_is_written_as_python_that_needs_no_meritnas(tmp_path: Path, block: str) -> None:
    text = f"20x20 {block}(8x2) {block}(16x1)"
    source = LARGE.source(text)
    assert "meritnas" not in source.split('"""', 2)[2]
    place = tmp_path / "network.py"
    place.write_text(source)
    spec = importlib.util.spec_from_file_location(f"network_{block}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    child = LARGE.child(text).eval()
    other = module.Network().eval()
    other.load_state_dict(child.state_dict())
    images = torch.randn(2, 1, 28, 28)
    assert torch.equal(other(images), child(images))
