from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.supernet.gates import Gate
from meritnas.supernet.mixed import Mixed


class Times(nn.Module):
    """Multiplies, and counts how often it is asked."""

    def __init__(self, factor: float, stride: int = 1) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))
        self.stride = stride
        self.calls = 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        return inputs[:, :, :: self.stride, :: self.stride] * self.factor


IMAGES = torch.arange(2 * 4 * 4 * 4, dtype=torch.float32).reshape(2, 4, 4, 4) - 60


def test_the_edge_is_the_weighted_sum_of_its_active_options() -> None:
    edge = Mixed([Times(2.0), None, Times(3.0), Times(5.0)])
    weights = torch.tensor([0.5, 0.1, 0.25, 7.0])
    found = edge(IMAGES, Gate((0, 1, 2), weights))
    torch.testing.assert_close(found, IMAGES * (0.5 * 2 + 0.25 * 3))
    torch.testing.assert_close(edge(IMAGES, Gate((2,))), IMAGES * 3)


def test_what_is_not_active_is_not_run() -> None:
    options = [Times(2.0), Times(3.0), Times(5.0)]
    edge = Mixed(options)
    edge(IMAGES, Gate((0, 2), torch.ones(3)))
    edge(IMAGES, Gate((2,)))
    assert [option.calls for option in options] == [1, 0, 2]


@pytest.mark.parametrize("partial", [1, 2])
def test_nothing_but_zeros_is_none(partial: int) -> None:
    edge = Mixed([None, Times(2.0), None], partial)
    assert edge(IMAGES, Gate((0,))) is None
    assert edge(IMAGES, Gate((0, 2), torch.ones(3))) is None
    assert edge(IMAGES, Gate((0, 1))) is not None


def test_options_are_known_by_their_number_and_zeros_have_no_weights() -> None:
    edge = Mixed([None, Times(2.0), Times(3.0)])
    assert [name for name, _ in edge.named_parameters()] == ["options.1.factor", "options.2.factor"]


def test_the_gradient_of_a_weight_is_gradient_times_output() -> None:
    edge = Mixed([Times(2.0), None, Times(3.0)])
    weights = torch.tensor([0.5, 0.2, 0.3], requires_grad=True)
    slopes = torch.randn(IMAGES.shape, generator=torch.Generator().manual_seed(0))
    (edge(IMAGES, Gate((0, 1, 2), weights)) * slopes).sum().backward()
    assert weights.grad is not None
    products = [(slopes * IMAGES * factor).sum() for factor in (2.0, 0.0, 3.0)]
    torch.testing.assert_close(weights.grad, torch.stack(products))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [4, 3])
def test_partial_channels_mix_the_first_part_and_let_the_others_pass(
    stride: int, size: int
) -> None:
    images = IMAGES[:, :, :size, :size]
    edge = Mixed([Times(2.0, stride), Times(3.0, stride)], 2, stride)
    found = edge(images, Gate((0, 1), torch.tensor([0.25, 0.75])))
    mixed = images[:, :2, ::stride, ::stride] * (0.25 * 2 + 0.75 * 3)
    passed = images[:, 2:]
    if stride == 2:
        passed = F.max_pool2d(passed, 2, 2, ceil_mode=True)
    # Dealt out like cards: one from each half in turn.
    expected = torch.stack([mixed[:, 0], passed[:, 0], mixed[:, 1], passed[:, 1]], dim=1)
    assert found.shape == (2, 4, -(-size // stride), -(-size // stride))
    torch.testing.assert_close(found, expected)


def test_an_edges_own_weight_scales_all_of_its_channels() -> None:
    """Edge normalisation: the weights of an edge sum to less than one, bypass included."""
    edge = Mixed([Times(2.0), None, Times(3.0)], 4)
    row = torch.tensor([0.25, 0.5, 0.25])
    whole = edge(IMAGES, Gate((0, 1, 2), row))
    torch.testing.assert_close(edge(IMAGES, Gate((0, 1, 2), row * 0.3)), whole * 0.3)
    # `none` has a share in the weight of an edge though it adds nothing to the mixture.
    torch.testing.assert_close(whole[:, 1:], IMAGES[:, 1:])
    torch.testing.assert_close(whole[:, 0], IMAGES[:, 0] * (0.25 * 2 + 0.25 * 3))


def test_four_parts_are_shuffled_as_in_the_paper() -> None:
    """Channel c of part p goes to place c * 4 + p."""
    images = torch.randn(1, 8, 2, 2, generator=torch.Generator().manual_seed(0))
    found = Mixed([nn.Identity()], 4)(images, Gate((0,)))
    assert torch.equal(found, images[:, [0, 2, 4, 6, 1, 3, 5, 7]])
