"""Spaces from build functions and from modules with choices."""

from __future__ import annotations

import itertools
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import meritnas
import meritnas.nn as mn
from meritnas import SpaceError
from meritnas.cost.paths import all_paths
from meritnas.data.columns.inputs import TableInputs
from meritnas.errors import MeritNASError
from meritnas.families import latency
from meritnas.families.built.family import BuiltSpace, space_of
from meritnas.families.built.learning import Learner
from meritnas.families.built.pieces import Piece
from meritnas.families.drawing import drawing_lines
from meritnas.families.live_memory import peak_bytes
from meritnas.families.part_times import operations_of
from meritnas.supernet.gates import Gate, one_path

sys.path.append(str(Path(__file__).parent.parent / "contracts"))
import own_networks


def small(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    """The example of the notes."""
    width = pick.width("width", 8, 16, 32)
    act = pick.one("act", relu=nn.ReLU, prelu=nn.PReLU)
    return nn.Sequential(mn.Linear(inputs, width), act(), mn.Linear(width, outputs))


def counted(module: nn.Module) -> int:
    return sum(param.numel() for param in module.parameters())


def test_a_build_function_is_a_space() -> None:
    family = meritnas.space_of(small, 5, 3)
    assert isinstance(family, meritnas.BuiltSpace)
    assert family.space.names == [["8", "16", "32"], ["relu", "prelu"]]
    assert family.cost("16-prelu") == 5 * 16 + 16 + 1 + 16 * 3 + 3
    assert family.cost("16-prelu", "flops") == 5 * 16 + 16 * 3
    found = family.feasible(max_params=160)
    assert [str(found.space.architecture(row)) for row in all_paths(found.diagram)] == [
        "8-relu",
        "8-prelu",
        "16-relu",
        "16-prelu",
    ]


def test_a_child_is_torch_alone() -> None:
    child = meritnas.space_of(small, 5, 3).child("16-prelu")
    assert [type(part) for part in child.modules()] == [
        nn.Sequential,
        nn.Linear,
        nn.PReLU,
        nn.Linear,
    ]
    assert isinstance(child[0], nn.Linear)  # type: ignore[index]
    assert child[0].out_features == 16  # type: ignore[index]


def distinct(family: BuiltSpace) -> set[str]:
    """The texts of all combinations of answers, as the plan says which are asked."""
    questions = family.origin.plan.questions
    return {
        family.space.text.format(options)
        for options in itertools.product(*(question.options for question in questions))
    }


@pytest.mark.parametrize(
    ("build", "inputs", "count"),
    [
        (own_networks.layers, 4, 3 * (1 + 2 * 2 + 2 * 2 * 2)),
        (own_networks.maps, (1, 6, 6), 2 * 2 * (4 + 4 * 4)),
        (own_networks.transformer, mn.Words(5), 2 * (4 + 4 * 4)),
    ],
)
def test_what_is_not_asked_is_not_counted(build: Any, inputs: Any, count: int) -> None:
    family = space_of(build, inputs, 3 if inputs != mn.Words(5) else 5)
    assert family.space.count() == count == len(distinct(family))
    assert family.within({}).count() == count
    networks = {family.random(seed) for seed in range(200)}
    assert all(family.parse(str(one)) == one for one in networks)
    assert {str(one) for one in networks} <= distinct(family)


def test_every_network_costs_what_counting_it_gives() -> None:
    family = space_of(own_networks.maps, (2, 8, 8), 3)
    everything = all_paths(family.within({}).diagram)
    assert len(everything) == family.space.count()
    costs = family.costs["params"].of(everything)
    for picks, cost in zip(everything, costs, strict=True):
        assert cost == counted(family.child(family.space.architecture(picks)))


@pytest.mark.parametrize(
    ("build", "inputs", "shape"),
    [(own_networks.layers, 4, (4,)), (own_networks.maps, (2, 6, 6), (2, 6, 6))],
)
def test_memory_at_once_is_that_of_each_network(
    build: Any, inputs: Any, shape: tuple[int, ...]
) -> None:
    family = space_of(build, inputs, 3)
    rng = np.random.default_rng(3)
    for architecture in {family.random(rng) for _ in range(25)}:
        child = family.child(architecture).eval()
        own = peak_bytes(child, [torch.zeros(1, *shape)])
        picks = np.array([family.space.picks(architecture)])
        assert family.cost(architecture, "peak") == own == family.maxima["peak"].of(picks)[0]
    costs = sorted(family.cost(family.random(rng), "peak") for _ in range(30))
    found = family.feasible(max_peak_kb=costs[10] / 1000)
    everything = all_paths(family.within({}).diagram)
    fits = family.maxima["peak"].of(everything) <= costs[10]
    assert found.count() == fits.sum() > 0


def test_multiply_adds_are_those_of_products_and_convolutions() -> None:
    family = space_of(own_networks.transformer, mn.Words(7), 7)
    layer = 4 * 8 * 8 + 2 * 8 * 4 + 2 * 8  # four maps, two of the hidden layer, and attention
    assert family.cost("8-1-4-two-_-_", "flops") == layer + 8 * 7
    images = space_of(own_networks.maps, (2, 8, 8), 3)
    stem, wider = 64 * 3 * 9 * 2, 16 * 8 * 9 * 3
    block = 16 * (2 * 8 * 1 + 2 * 9 + 2 * 8)
    assert images.cost(images.space.architecture([0] * 7), "flops") == stem + wider + block + 8 * 3


class Attentive(nn.Module):
    """Attention written as functions, a layer that runs twice, a product of two widths."""

    def __init__(self, pick: mn.Pick, inputs: int, outputs: int) -> None:
        super().__init__()
        width, other = pick.width("width", 4, 8), pick.width("other", 2, 6)
        self.first, self.again = mn.Linear(1, width), mn.Linear(width, width)
        self.act = pick.one("act", relu=nn.ReLU, prelu=nn.PReLU)()
        self.beside, self.out = mn.Linear(inputs, other), mn.Linear(other, outputs)

    def forward(self, rows: Tensor) -> Tensor:
        steps = self.again(self.again(self.first(rows.unsqueeze(2))))
        heard = nn.functional.scaled_dot_product_attention(steps, steps, steps)
        outer = self.act(heard).mean((1, 2), keepdim=True).squeeze(2) * self.beside(rows)
        found: Tensor = self.out(outer.softmax(1))
        return found


@pytest.mark.parametrize(
    ("build", "inputs", "row"),
    [
        (lambda *given: Attentive(*given), 5, torch.zeros(1, 5)),
        (own_networks.transformer, mn.Words(7), torch.zeros(1, 1, dtype=torch.long)),
        (own_networks.maps, (2, 6, 6), torch.zeros(1, 2, 6, 6)),
    ],
)
def test_everything_that_runs_is_timed(
    build: Any, inputs: Any, row: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbers_read(module: Any, given: tuple[Tensor, ...]) -> int:
        """One for each operation that reads tensors, and what these hold."""
        return sum(
            1 + sum(int(np.prod(one["shape"])) for one in shapes)
            for operation in operations_of(module, given)
            if (shapes := [o for o in tree_leaves(operation["args"], is_shape) if is_shape(o)])
        )

    def is_shape(value: Any) -> bool:
        return isinstance(value, dict) and "shape" in value

    def clock(parts: Any, rounds: int = 0) -> dict[Any, int]:
        del rounds
        for module, given in parts.values():
            module(*given)  # it runs by itself
        return {key: numbers_read(module, given) for key, (module, given) in parts.items()}

    monkeypatch.setattr(latency, "microseconds", clock)
    family = space_of(build, inputs, 7).timed()
    for seed in range(10):
        one = family.random(seed)
        assert family.cost(one, "latency") == numbers_read(family.child(one).eval(), (row,))


def test_files_are_as_large_as_the_cost_says_at_most(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    family = space_of(own_networks.maps, (2, 8, 8), 3)
    for seed in range(5):
        architecture = family.random(seed)
        path = tmp_path / f"{seed}.safetensors"
        save_file(
            dict(family.child(architecture).state_dict()), path, {"architecture": str(architecture)}
        )
        spare = family.cost(architecture, "size") - path.stat().st_size
        assert 0 <= spare < 40 * len(family.child(architecture).state_dict()) + 300


def test_a_mixture_weights_units_by_the_widths_that_have_them() -> None:
    family = space_of(
        lambda pick, i, o: nn.Sequential(mn.Linear(i, w := pick.width("w", 2, 3)), mn.Linear(w, o)),
        4,
        1,
    )
    supernet = family.supernet(0)
    first, second = (supernet.body[k] for k in (0, 1))
    weights = torch.tensor([0.25, 0.5])
    inputs = torch.randn(5, 4)
    units = inputs @ first.weight.T + first.bias
    expected = units * torch.tensor([0.75, 0.75, 0.5]) @ second.weight.T + second.bias
    torch.testing.assert_close(supernet(inputs, (Gate((0, 1), weights),)), expected)


def test_norms_of_a_mixture_are_over_each_width_alone() -> None:
    def normed(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
        width = pick.width("w", 2, 4)
        return nn.Sequential(
            mn.Linear(inputs, width), mn.LayerNorm(width), mn.Linear(width, outputs)
        )

    supernet = space_of(normed, 4, 1).supernet(0)
    first, last = supernet.body[0], supernet.body[2]
    inputs, weights = torch.randn(5, 4), torch.tensor([0.3, 0.6])
    units = inputs @ first.weight.T + first.bias
    narrow = nn.functional.pad(nn.functional.layer_norm(units[:, :2], (2,)), (0, 2))
    mixed = 0.3 * narrow + 0.6 * nn.functional.layer_norm(units, (4,))
    expected = mixed @ last.weight.T + last.bias
    torch.testing.assert_close(supernet(inputs, (Gate((0, 1), weights),)), expected)


def test_sizes_may_be_computed_from_several_widths() -> None:
    def joined(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
        return Joined(pick, inputs, outputs)

    class Joined(nn.Module):
        def __init__(self, pick: mn.Pick, inputs: int, outputs: int) -> None:
            super().__init__()
            left, right = pick.width("left", 2, 4), pick.width("right", 3, 5)
            self.left, self.right = mn.Linear(inputs, left), mn.Linear(inputs, right)
            self.norm = mn.LayerNorm(left + right)
            self.out = mn.Linear((left + right) * 1, outputs)

        def forward(self, rows: Tensor) -> Tensor:
            found: Tensor = self.out(self.norm(torch.cat([self.left(rows), self.right(rows)], 1)))
            return found

    family = space_of(joined, 4, 2)
    supernet, inputs = family.supernet(0), torch.randn(5, 4)
    for picks in itertools.product(range(2), repeat=2):
        child = family.child(family.space.architecture(picks))
        child.load_state_dict(supernet.extract(picks))
        torch.testing.assert_close(child(inputs), supernet(inputs, one_path(picks)))
        assert counted(child) == family.cost(family.space.architecture(picks))


def scaled(pick: mn.Pick, image: Any, outputs: int) -> nn.Module:
    """Images as they are or smaller, and a squeeze whose size is at least three."""
    sizes = {"large": nn.Identity, "small": partial(nn.AdaptiveAvgPool2d, 4)}
    width = pick.width("width", 4, 16)
    squeezed = mn.maximum(3, width // 4)
    return nn.Sequential(
        pick.one("size", **sizes)(),
        mn.Conv2d(image[0], width, 3, padding=1),
        mn.BatchNorm2d(width, weights_alone=True),
        mn.Conv2d(width, squeezed, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        mn.Linear(squeezed, outputs),
    )


def test_the_size_of_images_is_a_decision_and_mixtures_are_as_large_as_the_largest() -> None:
    supernet, images = space_of(scaled, (2, 8, 8), 3).supernet(0), torch.randn(3, 2, 8, 8)
    width, weights = Gate((1,)), torch.tensor([0.25, 0.75])
    resize, rest = supernet.body[0], supernet.body[1:]
    found = supernet(images, (width, Gate((0, 1), weights)))
    small = resize.options["1"](images)
    larger = nn.functional.interpolate(small, (8, 8), mode="bilinear")
    torch.testing.assert_close(found, rest(0.25 * images + 0.75 * larger))
    one_alone = supernet(images, (width, Gate((0, 1), torch.tensor([0.0, 1.0]))))
    torch.testing.assert_close(one_alone, supernet(images, (width, Gate((1,)))))


def test_all_weights_are_used_at_the_size_that_images_have() -> None:
    supernet = space_of(scaled, (2, 8, 8), 3).supernet(0)
    assert supernet.whole() == one_path((1, 0))  # the wider, and of what has no weights the first


def test_a_norm_has_weights_in_a_network_alone_and_none_while_they_are_shared() -> None:
    family = space_of(scaled, (2, 8, 8), 3)
    supernet, images = family.supernet(0), torch.randn(3, 2, 8, 8)
    assert not list(supernet.body[2].parameters())
    for picks in itertools.product(range(2), repeat=2):
        one = family.space.architecture(picks)
        child = family.child(one).train()
        assert len(list(child[2].parameters())) == 2
        child.load_state_dict(supernet.extract(picks))
        torch.testing.assert_close(child(images), supernet(images, one_path(picks)))
        assert counted(child) == family.cost(one)


def test_the_larger_of_two_sizes_is_a_size() -> None:
    assert mn.maximum(3, 2) == 3
    family = space_of(scaled, (2, 8, 8), 3)
    assert [family.child(f"{width}-large")[3].out_channels for width in (4, 16)] == [3, 4]


def test_a_ready_module_keeps_its_weights() -> None:
    module = own_networks.ready(4, 2)
    family = space_of(module, 4, 2)
    assert family.space.names == [
        ["gelu", "prelu"],
        ["linear", "deep", "none"],
        ["tanh", "prelu"],
    ]
    assert family.space.count() == 2 * (1 + 2 + 1)
    child = family.child("gelu-deep-prelu", seed=5)
    assert not any(isinstance(part, mn.Choice) for part in child.modules())
    assert torch.equal(child[0].weight, module[0].weight)  # type: ignore[index]
    assert torch.equal(child[2][2].bias, module[2].options[1][2].bias)  # type: ignore[index]
    inputs = torch.randn(3, 4)
    torch.testing.assert_close(module(inputs), family.child("gelu-linear-_")(inputs))


@pytest.mark.parametrize(
    ("build", "inputs", "outputs", "rows"),
    [
        (own_networks.layers, 4, 3, torch.randn(5, 4)),
        (own_networks.maps, (2, 6, 6), 3, torch.randn(5, 2, 6, 6)),
        (own_networks.transformer, mn.Words(7), 7, torch.randint(7, (2, 5))),
        (own_networks.ready(4, 2), 4, 2, torch.randn(5, 4)),
    ],
)
def test_networks_are_drawn_and_written_as_python(
    build: Any, inputs: Any, outputs: int, rows: Tensor
) -> None:
    family = space_of(build, inputs, outputs)
    for seed in range(3):
        architecture = family.random(seed)
        child = family.child(architecture).eval()
        (drawing,) = family.drawings(architecture)
        known = set(drawing.inputs)
        for node in drawing.nodes:
            assert {source for source, _ in node.reads} <= known
            known.add(node.name)
        linear = sum(isinstance(part, nn.Linear) for part in child.modules())
        assert " ".join(drawing_lines(drawing)).count("linear") == linear
        names: dict[str, Any] = {"__name__": "model"}
        exec(family.source(architecture), names)
        written = names["Network"]()
        written.load_state_dict(child.state_dict())
        assert torch.equal(written.eval()(rows), child(rows))


def test_a_network_is_written_for_people_and_for_earlier_versions_of_torch() -> None:
    class Crossing(nn.Module):
        """Values that are read late, twice, and never."""

        def __init__(self, pick: mn.Pick, inputs: Sequence[int], outputs: int) -> None:
            super().__init__()
            width = pick.width("width", 2, 4)
            self.nothing, self.norm = nn.Identity(), mn.BatchNorm2d(width, eps=1e-3)
            self.first = mn.Conv2d(inputs[0], width, 3, padding=1)
            self.end = nn.Sequential(nn.Flatten(), mn.Linear(width * 16, outputs))
            self.along = nn.GRU(4, 4, batch_first=True)  # whose signature names no options

        def forward(self, x: Tensor) -> Tensor:
            first = self.nothing(self.first(x))
            second, third = torch.relu(first), torch.sigmoid(first)
            torch.tanh(third)
            fourth = self.norm(second * third)
            found: Tensor = self.end(fourth + second - first + x.mean())
            return found + self.along(x[:, 0])[0].mean()

    family = space_of(lambda *given: Crossing(*given), (1, 4, 4), 2)
    child = family.child("4", seed=1).eval()
    source = family.source("4")
    assert "nn.BatchNorm2d(4, eps=0.001))" in source
    assert "nn.Conv2d(1, 4, kernel_size=(3, 3), padding=(1, 1)))" in source
    forward = source[source.index("def forward") : source.index("def load")]
    assert "Identity" not in source
    assert "= None" not in forward
    assert len(set(re.findall(r"^ +(\w+) = ", forward, re.MULTILINE))) <= 5
    names: dict[str, Any] = {"__name__": "model"}
    exec(source, names)
    written = names["Network"]()
    written.load_state_dict(child.state_dict())
    rows = torch.randn(3, 1, 4, 4)
    assert torch.equal(written.eval()(rows), child(rows))


def test_categories_and_tensors_of_ones_own_are_written_as_python_too() -> None:
    class Scaled(nn.Module):
        def __init__(self, pick: mn.Pick, inputs: int, outputs: int) -> None:
            super().__init__()
            width = pick.width("width", 2, 4)
            self.layer, self.out = mn.Linear(inputs, width), mn.Linear(width, outputs)
            self.scale = nn.Parameter(torch.rand(inputs))
            self.register_buffer("shift", torch.rand(inputs))
            self.register_buffer("factors", torch.tensor([0.1] * inputs), persistent=False)
            self.unused = nn.Linear(2, 2)

        def forward(self, rows: Tensor) -> Tensor:
            found: Tensor = self.out(self.layer(rows * self.scale * self.factors + self.shift))
            return found

    family = space_of(lambda *given: Scaled(*given), TableInputs(2, (3, 5, 40)), 3)
    architecture = family.parse("4")
    child = family.child(architecture, seed=1).eval()
    names: dict[str, Any] = {"__name__": "model"}
    exec(family.source(architecture), names)
    written = names["Network"]()
    written.load_state_dict(child.state_dict())
    rows = torch.cat([torch.randn(6, 2), torch.randint(3, (6, 3))], 1)
    assert torch.equal(written.eval()(rows), child(rows))


def test_what_cannot_be_traced_is_not_drawn_and_not_written() -> None:
    class Branching(nn.Module):
        def __init__(self, pick: mn.Pick, inputs: int, outputs: int) -> None:
            super().__init__()
            self.out = nn.Sequential(
                mn.Linear(inputs, w := pick.width("w", 2, 3)), mn.Linear(w, outputs)
            )

        def forward(self, rows: Tensor) -> Tensor:
            found: Tensor = self.out(rows)
            return found * 2 if found.mean() > 3 else found

    family = space_of(lambda *given: Branching(*given), 4, 2)
    architecture = family.random(0)
    assert family.drawings(architecture) == ()
    with pytest.raises(MeritNASError, match="use --to onnx or --to torch-export"):
        family.source(architecture)


def test_another_process_gets_a_space_with_what_was_found_out() -> None:
    family = space_of(own_networks.layers, 4, 3).restrict([np.arange(2)] * 5)
    limited = family.feasible(max_params=100, max_peak_kb=0.2)
    again = pickle.loads(pickle.dumps(family))
    assert again == family
    assert "learner" not in vars(again.origin)
    assert again.feasible(max_params=100, max_peak_kb=0.2).count() == limited.count() > 0
    assert "learner" not in vars(again.origin)


STATE = {"calls": 0}


def counting_up(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    STATE["calls"] += 1
    width = pick.width(f"width{STATE['calls']}", 2, 4)
    return nn.Sequential(mn.Linear(inputs, width), mn.Linear(width, outputs))


def growing(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    STATE["calls"] += 1
    width = pick.width("width", 2, 4)
    hidden = STATE["calls"]
    return nn.Sequential(
        mn.Linear(inputs, hidden), mn.Linear(hidden, width), mn.Linear(width, outputs)
    )


def branching(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    kind = pick.one("kind", "wide", "narrow")
    return nn.Linear(inputs, outputs) if kind == "wide" else nn.Identity()


def plain_layer(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    width = pick.width("width", 2, 4)
    return nn.Sequential(nn.Linear(inputs, width), mn.Linear(width, outputs))


def wrong_loop(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    blocks = [nn.Linear(inputs, inputs) for _ in range(pick.depth("deep", 1, 2))]
    return nn.Sequential(*blocks, nn.Linear(inputs, outputs))


def does_not_fit(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    width = pick.width("width", 2, 4)
    return nn.Sequential(mn.Linear(inputs, width), mn.Linear(7, outputs))


def wrong_answer(pick: mn.Pick, inputs: int, _: int) -> nn.Module:
    return nn.Sequential(mn.Linear(inputs, pick.width("width", 2, 4)))


def twice(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    first, second = pick.width("width", 2, 4), pick.width("width", 2, 8)
    return nn.Sequential(mn.Linear(inputs, first), mn.Linear(second, outputs))


def unused_width(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    width = pick.width("width", 2, 4)
    pick.width("other", 3, 5)
    return nn.Sequential(mn.Linear(inputs, width), mn.Linear(width, outputs))


def unused_option(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    width = pick.width("width", 2, 4)
    module: Any = nn.Sequential(mn.Linear(inputs, width), mn.Linear(width, outputs))
    module.how = pick.one("how", "this", "that")
    return module  # type: ignore[no-any-return]


def of_no_module(pick: mn.Pick, _: int, outputs: int) -> Any:
    return [pick.width("w", 2, outputs)]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (counting_up, "must ask the same at every call"),
        (growing, "the weight '0.weight' has the shape"),
        (branching, "the answer to 'kind' is not known while all networks are built at once"),
        (plain_layer, "mn.Linear in place of nn.Linear"),
        (wrong_loop, "mn.Stack"),
        (lambda pick, *_: pick.width("w", 2, 4) and None, "widths to layers"),
        (of_no_module, "must return a torch module, got"),
        (lambda _, inputs, outputs: nn.Linear(inputs, outputs), "nothing to search"),
        (does_not_fit, "mend it"),
        (wrong_answer, r"shape \(2, 3\) for two rows, got numbers of the shape \(2, 4\)"),
        (twice, "asked twice with other options"),
        (lambda pick, *_: pick.width("w"), "has no options"),
        (lambda pick, *_: pick.width("w", 0), "whole numbers of at least 1, got 0"),
        (lambda pick, *_: pick.one("a-b", -1, 2), "give it a name of its own"),
        (lambda *_: {}["gone"], "KeyError: 'gone'"),
        (unused_width, r"asks 'other' \(3, 5\), and nothing in the network depends on the answer"),
        (unused_option, "asks 'how' .*, so that every network would be counted 2 times"),
        (3, "build function"),
    ],
)
def test_what_cannot_be_a_space_is_told(build: Callable[..., Any], words: str) -> None:
    with pytest.raises(MeritNASError, match=words):
        assert space_of(build, 5, 3).costs


def test_a_network_that_differs_by_chance_is_told() -> None:
    calls = [0]

    def by_chance(_: tuple[int, ...]) -> dict[str, Piece]:
        calls[0] += 1
        return {"layer": Piece(calls[0] % 7, 0, 0, 0)}

    with pytest.raises(SpaceError, match="the same answers gave two different networks"):
        Learner((2, 2, 2), by_chance, ("a", "b", "c")).learn()


def test_decisions_that_all_interact_are_named() -> None:
    def tangled(picks: tuple[int, ...]) -> dict[str, Piece]:
        return {"layer": Piece(int(np.prod(np.array(picks) + 2)), 0, 0, 0)}

    names = [f"d{i}" for i in range(8)]
    with pytest.raises(SpaceError, match=r"decisions .*d[0-7].* interact: .* combinations"):
        Learner((6,) * 8, tangled, names).learn()


@pytest.mark.parametrize("seed", range(3))
def test_few_networks_show_which_decisions_matter(seed: int) -> None:
    """Random parts that depend on up to three of twelve decisions are found exactly."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in rng.integers(2, 5, 12))
    groups = [tuple(sorted(rng.choice(12, rng.integers(0, 4), replace=False))) for _ in range(20)]
    tables = [rng.integers(0, 3, [sizes[i] for i in group]) for group in groups]

    def made(picks: tuple[int, ...]) -> dict[str, Piece]:
        return {
            str(n): Piece(int(table[tuple(picks[i] for i in group)]), 0, 0, 0)
            for n, (group, table) in enumerate(zip(groups, tables, strict=True))
        }

    learner = Learner(sizes, made, [str(i) for i in range(12)])
    learner.learn()
    assert learner.builds < 900
    known = list(learner.parts())
    for _ in range(200):
        picks = tuple(int(rng.integers(size)) for size in sizes)
        expected = sum(piece.params for piece in made(picks).values())
        pieces = [table[tuple(picks[i] for i in group)] for group, table in known]
        assert sum(piece.params for piece in pieces if piece is not None) == expected


def test_ten_to_the_thirty_networks_are_a_space() -> None:
    def deep(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
        layers: list[nn.Module] = []
        for number in range(100):
            width = pick.width(f"w{number}", 4, 6)
            layers += [mn.Linear(inputs, width), nn.ReLU()]
            inputs = width  # type: ignore[assignment]
        return nn.Sequential(*layers, mn.Linear(inputs, outputs))

    family = space_of(deep, 3, 2)
    assert family.space.count() == 2**100 > 10**30
    # Not learnt here: 700 builds of 100 layers take a minute.
    assert counted(family.child(family.random(0))) > 0
