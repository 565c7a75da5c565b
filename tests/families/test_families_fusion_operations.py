from __future__ import annotations

import math
from typing import cast

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from meritnas.errors import SpaceError
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.fusion.operations import (
    BM_NAS,
    EVERY,
    NORMAL,
    SPARSE,
    Attention,
    Gated,
    Joined,
    SqueezeExcite,
    make_fusion,
)
from meritnas.families.operations import CHILD, SEARCHED


def pair(n: int = 3, channels: int = 8, length: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(n, channels, length, generator=generator),
        torch.randn(n, channels, length, generator=generator),
    )


def made(name: str, **changes: float) -> nn.Module:
    torch.manual_seed(1)
    return make_fusion(name, 8, 4, SEARCHED, **changes)  # type: ignore[arg-type]


def normed(values: Tensor) -> Tensor:
    return F.batch_norm(values, None, None, training=True)


def test_the_sets_are_those_of_the_papers() -> None:
    assert (len(NORMAL), len(SPARSE), len(set(NORMAL + SPARSE)), len(BM_NAS)) == (4, 4, 8, 4)
    assert all(name.startswith("sparse_") for name in SPARSE)


@pytest.mark.parametrize(
    ("name", "channels", "length", "expected"),
    [
        ("sum", 192, 16, 0),
        ("concat", 192, 16, 74_304),
        ("concat", 128, 8, 33_152),
        ("attention", 192, 16, 6_144),
        ("attention", 128, 8, 2_048),
        ("bm_glu", 192, 16, 148_608),
        ("bm_glu", 128, 8, 66_304),
        ("glu", 128, 8, 2 * (128 * 128 + 128 + 256)),
        ("sparse_glu", 128, 8, 2 * (128 * 128 + 128 + 256)),
        ("sparse_concat", 128, 8, 33_152),
        ("sparse_attention", 128, 8, 3 * 128 * 128 + 2_048),
        ("se", 128, 8, 256 * 16 + 16 + 16 * 256 + 256 + 256 * 128 + 128),
        ("sparse_se", 128, 8, 256 * 16 + 16 + 16 * 256 + 256 + 256 * 128 + 128),
    ],
)
def test_operations_have_their_known_number_of_weights(
    name: str, channels: int, length: int, expected: int
) -> None:
    with torch.device("meta"):
        assert parameters(make_fusion(name, channels, length, CHILD)) == expected


def test_longer_atoms_have_more_weights_but_not_where_signals_are_single() -> None:
    with torch.device("meta"):
        glu = make_fusion("sparse_glu", 8, 4, SEARCHED, kernel=3)
        se = make_fusion("sparse_se", 8, 4, SEARCHED, kernel=3)
    assert parameters(glu) == 2 * (3 * 8 * 8 + 8)
    assert parameters(se) == (16 + 1) + (16 + 16) + (3 * 16 * 8 + 8)


def test_multiply_adds_count_sparse_coding_and_attention() -> None:
    shape = (8, 4)
    with torch.device("meta"):
        found = {
            name: multiply_adds(make_fusion(name, 8, 4, CHILD), shape, shape) for name in EVERY
        }
    square = 8 * 8 * 4
    assert found["sum"] == 0
    assert found["glu"] == found["concat"] == 2 * square
    assert found["bm_glu"] == 4 * square
    assert found["sparse_glu"] == found["sparse_concat"] == 3 * 2 * square
    assert found["attention"] == 2 * 8 * 4 * 4
    assert found["sparse_attention"] == 3 * 3 * square + 2 * 8 * 4 * 4
    assert found["se"] == 16 + 16 + 2 * square
    assert found["sparse_se"] == 3 * found["se"]


@pytest.mark.parametrize("norms", [CHILD, SEARCHED])
@pytest.mark.parametrize("name", EVERY)
def test_operations_keep_the_shape_and_read_both_inputs(name: str, norms: object) -> None:
    torch.manual_seed(1)
    operation = make_fusion(name, 8, 4, norms)  # type: ignore[arg-type]
    x, y = (t.requires_grad_() for t in pair())
    z = operation(x, y)
    assert z.shape == x.shape
    for gradient in torch.autograd.grad((z * torch.randn_like(z)).sum(), (x, y)):
        assert gradient.abs().sum() > 0
    empty = operation(torch.zeros(3, 8, 4), torch.zeros(3, 8, 4))
    assert empty.isfinite().all()
    if norms is SEARCHED:
        kinds = (nn.BatchNorm1d, nn.LayerNorm)
        for norm in (m for m in operation.modules() if isinstance(m, kinds)):
            assert not list(norm.parameters())
            assert not list(norm.buffers())


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("name", EVERY)
def test_gradients_are_those_of_differences(name: str, kernel: int) -> None:
    """Of both inputs, and of weights unless they are atoms: none flow through an atom's size."""
    torch.manual_seed(1)
    operation = make_fusion(name, 4, 3, SEARCHED, l1=0.01, kernel=kernel).double()
    x, y = (part.double().requires_grad_() for part in pair(3, 4, 3))
    weights = {} if name in SPARSE else dict(operation.named_parameters())

    def call(x: Tensor, y: Tensor, *values: Tensor) -> Tensor:
        changed = dict(zip(weights, values, strict=True))
        return cast(Tensor, functional_call(operation, changed, (x, y)))

    assert torch.autograd.gradcheck(call, (x, y, *weights.values()))


def test_sum_adds() -> None:
    x, y = pair()
    assert torch.equal(made("sum")(x, y), x + y)


@pytest.mark.parametrize("name", ["glu", "sparse_glu"])
def test_glu_gates_x_by_y(name: str) -> None:
    x, y = pair()
    operation = made(name)
    assert isinstance(operation, Gated)
    expected = normed(operation.value(x)) * torch.sigmoid(normed(operation.gate(y)))
    torch.testing.assert_close(operation(x, y), expected)


def test_the_gated_unit_of_bm_nas_maps_both_inputs_at_once() -> None:
    x, y = pair()
    operation = made("bm_glu")
    weight, bias = operation.map.weight[:, :, 0], operation.map.bias  # type: ignore[union-attr,index]
    both = normed(weight @ torch.cat([x, y], 1) + bias[:, None])  # type: ignore[index,operator]
    torch.testing.assert_close(operation(x, y), both[:, :8] * torch.sigmoid(both[:, 8:]))


@pytest.mark.parametrize("name", ["concat", "sparse_concat"])
def test_concat_maps_both_to_one(name: str) -> None:
    x, y = pair()
    operation = made(name)
    assert isinstance(operation, Joined)
    expected = torch.relu(normed(operation.map(torch.cat([x, y], 1))))
    torch.testing.assert_close(operation(x, y), expected)


@pytest.mark.parametrize("name", ["se", "sparse_se"])
def test_squeeze_and_excite_weighs_channels_by_their_means(name: str) -> None:
    x, y = pair()
    operation = made(name)
    assert isinstance(operation, SqueezeExcite)
    both = torch.cat([x, y], 1)
    hidden = torch.relu(operation.squeeze(both.mean(2, keepdim=True)))
    assert hidden.shape == (3, 1, 1)
    expected = operation.map(both * torch.sigmoid(operation.excite(hidden)))
    torch.testing.assert_close(operation(x, y), expected)


@pytest.mark.parametrize("name", ["attention", "sparse_attention"])
def test_attention_mixes_the_positions_of_y(name: str) -> None:
    x, y = pair()
    operation = made(name)
    assert isinstance(operation, Attention)
    q, k, v = operation.query(x), operation.key(y), operation.value(y)
    expected = torch.zeros_like(x)
    for position in range(4):
        scores = torch.stack([(q[:, :, position] * k[:, :, i]).sum(1) for i in range(4)], 1)
        shares = torch.softmax(scores / math.sqrt(8), 1)
        expected[:, :, position] = (v * shares[:, None, :]).sum(2)
    torch.testing.assert_close(operation(x, y), F.layer_norm(expected, (8, 4)))
    if name == "attention":
        assert q is x
        assert v is y


def test_dropout_is_of_the_given_rate_and_a_tenth_in_attention() -> None:
    def rates(name: str, dropout: float) -> list[float]:
        found = make_fusion(name, 8, 4, CHILD, dropout).modules()
        return [layer.p for layer in found if isinstance(layer, nn.Dropout)]

    for name in set(EVERY) - {"sum", "attention", "sparse_attention"}:
        assert rates(name, 0.2) == [0.2]
        assert rates(name, 0.0) == [0.0]
    assert rates("attention", 0.2) == rates("sparse_attention", 0.2) == [0.1]
    assert rates("attention", 0.0) == rates("sparse_attention", 0.0) == [0.0]


def test_the_price_of_codes_reaches_the_sparse_operations() -> None:
    x, y = pair()
    free, dear = (made("sparse_se", l1=l1) for l1 in (0.0, 1e6))
    assert torch.equal(dear(x, y), dear.map.bias.expand(3, 8, 4))  # type: ignore[union-attr,operator]
    assert not torch.allclose(free(x, y), made("sparse_se")(x, y))


def test_an_unknown_operation_is_explained() -> None:
    with pytest.raises(SpaceError, match="no fusion operation 'sparse_gul'; did you mean 'sparse_"):
        make_fusion("sparse_gul", 8, 4, CHILD)
