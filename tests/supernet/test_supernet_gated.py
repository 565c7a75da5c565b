from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from meritnas.supernet.gated import GatedSupernet
from meritnas.supernet.gates import Gates, mixture, one_path
from meritnas.supernet.mixed import Mixed


def options(width: int = 3) -> list[nn.Module | None]:
    convs = [nn.Conv2d(width, width, size, padding=size // 2, bias=False) for size in (1, 3)]
    return [None, nn.Identity(), *convs]


class Body(nn.Module):
    """A convolution, two edges that answer one decision, one that answers another, a mean."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 3, 1)
        self.edges = nn.ModuleList([Mixed(options()) for _ in range(3)])

    def forward(self, inputs: Tensor, gates: Gates) -> Tensor:
        found = self.stem(inputs)
        for edge, gate in zip(self.edges, (gates[0], gates[1], gates[0]), strict=True):
            mixed = edge(found, gate)
            found = found if mixed is None else found + mixed
        means: Tensor = found.mean(dim=(2, 3))
        return means


class Child(nn.Module):
    def __init__(self, picks: Sequence[int], width: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 3, 1)
        chosen = [options(width)[pick] for pick in (picks[0], picks[1], picks[0])]
        self.edges = nn.ModuleDict(
            {str(i): module for i, module in enumerate(chosen) if module is not None}
        )

    def forward(self, inputs: Tensor) -> Tensor:
        found = self.stem(inputs)
        for i in range(3):
            if str(i) in self.edges:
                found = found + self.edges[str(i)](found)
        means: Tensor = found.mean(dim=(2, 3))
        return means


EDGES = {"edges.0": 0, "edges.1": 1, "edges.2": 0}
IMAGES = torch.randn(4, 1, 5, 5, generator=torch.Generator().manual_seed(0))


def supernet() -> GatedSupernet:
    torch.manual_seed(0)
    return GatedSupernet(Body(), EDGES, Child)


@pytest.mark.parametrize("picks", [(0, 0), (1, 2), (2, 3), (3, 0), (3, 3)])
def test_a_child_with_extracted_weights_is_its_path(picks: tuple[int, int]) -> None:
    shared, child = supernet(), Child(picks)
    child.load_state_dict(shared.extract(picks))
    torch.testing.assert_close(child(IMAGES), shared(IMAGES, one_path(picks)))


def test_blocks_are_the_fixed_weights_and_those_of_active_options_wherever_they_are() -> None:
    shared = supernet()
    fixed = {"body.stem.weight", "body.stem.bias"}
    assert set(shared.blocks(one_path((0, 1)))) == fixed
    found = shared.blocks(one_path((3, 2)))
    assert set(found) - fixed == {
        "body.edges.0.options.3.weight",
        "body.edges.1.options.2.weight",
        "body.edges.2.options.3.weight",
    }
    assert found["body.edges.0.options.3.weight"] == (3, 3, 3, 3)
    everything = mixture([torch.ones(4), torch.ones(4)])
    assert set(shared.blocks(everything)) == {name for name, _ in shared.named_parameters()}


def test_there_are_no_gates_that_use_all_weights() -> None:
    assert supernet().whole() is None


def test_given_weights_take_the_place_of_the_own_for_one_call() -> None:
    shared = supernet()
    gates = one_path((2, 3))
    before = shared(IMAGES, gates)
    doubled = {name: 2 * param.detach() for name, param in shared.named_parameters()}
    used = {name: doubled[name] for name in shared.blocks(gates)}
    other = supernet()
    other.load_state_dict(doubled)
    torch.testing.assert_close(shared(IMAGES, gates, used), other(IMAGES, gates))
    assert torch.equal(shared(IMAGES, gates), before)


def test_several_architectures_are_judged_on_one_batch() -> None:
    shared = supernet()
    picks = [(0, 0), (3, 1), (3, 1)]
    for row, found in zip(picks, shared.each(IMAGES, picks), strict=True):
        assert torch.equal(found, shared(IMAGES, one_path(row)))


def test_weights_of_another_size_are_explained() -> None:
    torch.manual_seed(0)
    shared = GatedSupernet(Body(), EDGES, lambda picks: Child(picks, width=2))
    with pytest.raises(
        ValueError, match=r"edges.0.weight has shape \(2, 2, 1, 1\), the supernet's"
    ):
        shared.extract((2, 0))
