from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from meritnas.errors import SpaceError
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.operations import (
    CHILD,
    SEARCHED,
    SKELETON,
    FactorizedReduce,
    Noise,
    make_operation,
)

NAMES = (
    "skip_connect",
    "avg_pool_3x3",
    "max_pool_3x3",
    "nor_conv_1x1",
    "nor_conv_3x3",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
    "noise",
)


@pytest.mark.parametrize("size", [(8, 8), (7, 9), (1, 1), (5, 4), (14, 28)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_every_operation_divides_the_size_by_its_stride_rounded_up(
    name: str, stride: int, size: tuple[int, int]
) -> None:
    inputs = torch.randn(2, 6, *size)
    outputs = make_operation(name, 6, stride, CHILD)(inputs)
    assert outputs.shape == (2, 6, -(-size[0] // stride), -(-size[1] // stride))


@pytest.mark.parametrize(
    ("name", "stride", "expected"),
    [
        ("skip_connect", 1, 0),
        ("skip_connect", 2, 8 * 8 + 2 * 8),
        ("avg_pool_3x3", 1, 0),
        ("max_pool_3x3", 2, 0),
        ("nor_conv_1x1", 1, 8 * 8 + 16),
        ("nor_conv_3x3", 1, 9 * 8 * 8 + 16),
        ("sep_conv_3x3", 2, 2 * (9 * 8 + 8 * 8 + 16)),
        ("sep_conv_5x5", 1, 2 * (25 * 8 + 8 * 8 + 16)),
        ("dil_conv_3x3", 1, 9 * 8 + 8 * 8 + 16),
        ("dil_conv_5x5", 2, 25 * 8 + 8 * 8 + 16),
        ("noise", 2, 0),
    ],
)
def test_operations_have_the_weights_of_their_definition(
    name: str, stride: int, expected: int
) -> None:
    assert parameters(make_operation(name, 8, stride, CHILD)) == expected
    norms = sum(
        2 * part.num_features
        for part in make_operation(name, 8, stride, CHILD).modules()
        if isinstance(part, nn.BatchNorm2d)
    )
    # In the cells of a supernet norms have no weights.
    assert parameters(make_operation(name, 8, stride, SEARCHED)) == expected - norms


@pytest.mark.parametrize(
    ("name", "reach"),
    [
        ("nor_conv_1x1", 0),
        ("nor_conv_3x3", 1),
        ("sep_conv_3x3", 2),
        ("sep_conv_5x5", 4),
        ("dil_conv_3x3", 2),
        ("dil_conv_5x5", 4),
        ("avg_pool_3x3", 1),
        ("max_pool_3x3", 1),
        ("skip_connect", 0),
    ],
)
def test_operations_see_so_many_pixels_in_each_direction(name: str, reach: int) -> None:
    torch.manual_seed(0)
    operation = make_operation(name, 2, 1, CHILD).eval()
    inputs = torch.rand(1, 2, 15, 15).requires_grad_()
    operation(inputs)[0, :, 7, 7].sum().backward()
    assert inputs.grad is not None
    seen = inputs.grad.abs().sum(dim=(0, 1)).nonzero() - 7
    if name != "max_pool_3x3":  # whose gradient goes to the largest only
        assert int(seen.abs().max()) == reach
    else:
        assert int(seen.abs().max()) <= reach
    if "dil" in name:  # every other pixel
        assert (seen % 2 == 0).all()


def test_a_separable_convolution_is_two_halves_and_only_the_first_has_the_stride() -> None:
    operation = make_operation("sep_conv_5x5", 4, 2, CHILD)
    kinds = [type(part).__name__ for half in operation.children() for part in half.children()]
    assert kinds == ["ReLU", "Conv2d", "Conv2d", "BatchNorm2d"] * 2
    convs = [part for part in operation.modules() if isinstance(part, nn.Conv2d)]
    assert [conv.stride for conv in convs] == [(2, 2), (1, 1), (1, 1), (1, 1)]
    assert [conv.groups for conv in convs] == [4, 1, 4, 1]
    assert all(conv.bias is None for conv in convs)


def test_average_pooling_leaves_padding_out_of_the_count() -> None:
    ones = torch.ones(1, 1, 5, 5)
    for stride in (1, 2):
        assert torch.equal(
            make_operation("avg_pool_3x3", 1, stride, CHILD)(ones).unique(), torch.ones(1)
        )


def test_a_factorised_reduction_reads_even_pixels_with_one_half_and_odd_with_the_other() -> None:
    torch.manual_seed(0)
    module = FactorizedReduce(3, 5, SEARCHED)
    inputs = torch.randn(4, 3, 6, 8)
    active = F.relu(inputs)
    both = torch.cat(
        [
            F.conv2d(active[:, :, ::2, ::2], module.even.weight),
            F.conv2d(active[:, :, 1::2, 1::2], module.odd.weight),
        ],
        dim=1,
    )
    assert module.even.weight.shape[0] + module.odd.weight.shape[0] == 5
    expected = F.batch_norm(both, None, None, training=True)
    torch.testing.assert_close(module(inputs), expected)


def test_noise_is_normal_and_forgets_its_input() -> None:
    torch.manual_seed(0)
    inputs = torch.full((8, 4, 31, 32), 100.0, requires_grad=True)
    outputs = Noise(2)(inputs)
    assert outputs.shape == (8, 4, 16, 16)
    assert not outputs.requires_grad
    assert abs(float(outputs.mean())) < 0.05
    assert abs(float(outputs.std()) - 1) < 0.05
    assert not torch.equal(Noise(2)(inputs), outputs)


def test_norms_of_a_supernet_keep_no_statistics() -> None:
    inputs = torch.randn(8, 3, 4, 4) * 7 + 5
    for norms, weights in ((SEARCHED, 0), (SKELETON, 2)):
        norm = norms(3)
        norm(inputs)
        assert len(list(norm.buffers())) == 0
        assert len(list(norm.parameters())) == weights
        torch.testing.assert_close(norm.eval()(inputs), norm.train()(inputs))
    child = CHILD(3)
    child(inputs)
    assert child.running_mean is not None
    assert (child.running_mean > 0.1).all()


def test_an_operation_that_does_not_exist_is_named() -> None:
    with pytest.raises(SpaceError, match="no operation 'sep_conv_9x9'; there are none, skip_conn"):
        make_operation("sep_conv_9x9", 4, 1, CHILD)


def test_multiply_adds_are_those_of_convolutions_and_linear_layers() -> None:
    with torch.device("meta"):
        network = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.Conv2d(8, 8, 5, padding=2, groups=8, bias=False),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 10),
        )
    pixels = 4 * 5
    expected = pixels * 8 * 3 * 9 + pixels * 8 * 25 + 8 * 10 + 10
    assert multiply_adds(network, (3, 7, 9)) == expected
    assert not any(part._forward_hooks for part in network.modules())


def test_a_factorised_reduction_of_few_channels_trains() -> None:
    """A strided convolution in its place would write past its memory and end the process."""
    module = FactorizedReduce(2, 2, SEARCHED)
    strided = nn.Conv2d(2, 1, 1, 2, bias=False)
    assert all(part.stride == (1, 1) for part in module.modules() if isinstance(part, nn.Conv2d))
    strided.load_state_dict(module.even.state_dict())
    for _ in range(50):
        inputs = torch.randn(8, 2, 8, 8).contiguous(memory_format=torch.channels_last)
        module(inputs.requires_grad_()).square().sum().backward()
    with torch.no_grad():
        even = module.even(F.relu(inputs)[:, :, ::2, ::2])
        torch.testing.assert_close(even, strided(F.relu(inputs)))
