from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from meritnas.supernet.gates import Gate, mixture, one_path
from meritnas.supernet.supernet import leading_block
from meritnas.supernet.width import WidthLayer

WIDTHS = (2, 3, 6)


def padded(layer: WidthLayer, inputs: torch.Tensor, width: int, to: int) -> torch.Tensor:
    columns = inputs.shape[1]
    scores = F.linear(inputs, layer.linear.weight[:width, :columns], layer.linear.bias[:width])
    return F.pad(F.relu(F.layer_norm(scores, (width,))), (0, to - width))


@pytest.fixture
def layer() -> WidthLayer:
    torch.manual_seed(0)
    return WidthLayer(4, WIDTHS)


@pytest.mark.parametrize("columns", [2, 4])
def test_a_mixture_is_the_weighted_sum_of_padded_widths(layer: WidthLayer, columns: int) -> None:
    inputs = torch.randn(8, columns)
    weights = torch.tensor([0.5, 0.2, 0.3])
    expected = sum(
        g * padded(layer, inputs, width, 6) for g, width in zip(weights, WIDTHS, strict=True)
    )
    torch.testing.assert_close(layer(inputs, Gate((0, 1, 2), weights)), expected)


def test_only_the_widest_active_width_is_passed_on(layer: WidthLayer) -> None:
    inputs = torch.randn(8, 4)
    weights = torch.tensor([0.5, 0.5, 0.0])
    found = layer(inputs, Gate((0, 1), weights))
    assert found.shape == (8, 3)
    expected = 0.5 * padded(layer, inputs, 2, 3) + 0.5 * padded(layer, inputs, 3, 3)
    torch.testing.assert_close(found, expected)


def test_a_gates_gradient_is_the_output_gradient_times_that_options_output(
    layer: WidthLayer,
) -> None:
    inputs = torch.randn(8, 4)
    weights = torch.tensor([0.5, 0.2, 0.3], requires_grad=True)
    outputs = layer(inputs, Gate((0, 1, 2), weights))
    arriving = torch.randn(outputs.shape)
    (found,) = torch.autograd.grad(outputs, weights, arriving)
    for option, width in enumerate(WIDTHS):
        expected = (arriving * padded(layer, inputs, width, 6)).sum()
        torch.testing.assert_close(found[option], expected)


def test_mixture_lists_the_options_with_weight() -> None:
    gates = mixture([torch.tensor([0.0, 0.4, 0.6]), torch.tensor([1.0, 0.0])])
    assert [gate.active for gate in gates] == [(1, 2), (0,)]
    weights = torch.tensor([0.3, 0.7], requires_grad=True)
    assert mixture([weights])[0].weights is weights


def test_one_path_has_one_option_of_weight_one() -> None:
    gates = one_path([2, 0])
    assert [gate.active for gate in gates] == [(2,), (0,)]
    assert all(gate.weights is None for gate in gates)


def test_a_leading_block_is_a_view() -> None:
    tensor = torch.zeros(4, 5)
    block = leading_block(tensor, (2, 3))
    assert block.shape == (2, 3)
    block.fill_(1.0)
    assert tensor.sum() == 6
    assert tensor[:2, :3].sum() == 6
