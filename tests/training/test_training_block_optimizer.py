from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from meritnas import TableInputs, TabularSpace, tabular_space
from meritnas.settings.recipe import ADAM_EPS, TrainRecipe
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.supernet import Supernet, module_of
from meritnas.training.block_optimizer import BlockOptimizer, clipped

Name = Literal["adam", "sgd"]
NAMES: tuple[Name, ...] = ("adam", "sgd")
RATES = (0.02, 0.015, 0.01, 0.003)
DECAYS = (0.0, 3.0)


def family() -> TabularSpace:
    return tabular_space(TableInputs(3, (4, 3), embedding=2), 2, 3, (3, 5, 8))


def inputs_of(k: int) -> Tensor:
    generator = torch.Generator().manual_seed(k)
    codes = torch.randint(3, (20, 2), generator=generator).float()
    return torch.cat([torch.randn(20, 3, generator=generator), codes], dim=1)


def loss_of(outputs: Tensor) -> Tensor:
    return (outputs - torch.linspace(-1, 1, outputs.numel()).view_as(outputs)).square().mean()


def block_step(
    supernet: Supernet, optimizer: BlockOptimizer, gates: Gates, k: int, rate: float
) -> None:
    leaves = optimizer.leaves(supernet.blocks(gates))
    outputs = torch.func.functional_call(module_of(supernet), leaves, (inputs_of(k), gates))
    grads = torch.autograd.grad(loss_of(outputs), list(leaves.values()))
    optimizer.step(leaves, grads, rate)


def torch_optimizer(name: Name, module: nn.Module, decay: float) -> torch.optim.Optimizer:
    """Torch's own; its SGD knows no decoupled decay, so `torch_step` shrinks the matrices."""
    if name == "sgd":
        return torch.optim.SGD(module.parameters(), lr=1.0, momentum=0.9)
    if not decay:
        return torch.optim.Adam(module.parameters(), lr=1.0, eps=ADAM_EPS)
    groups = [
        {"params": [p for p in module.parameters() if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in module.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1.0, eps=ADAM_EPS)


def torch_step(
    optimizer: torch.optim.Optimizer,
    run: Callable[[Tensor], Tensor],
    k: int,
    rate: float,
    decay: float,
) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss_of(run(inputs_of(k))).backward()
    if isinstance(optimizer, torch.optim.SGD):
        with torch.no_grad():
            for param in optimizer.param_groups[0]["params"]:
                param.mul_(1 - rate * decay if param.ndim > 1 else 1)
    optimizer.step()


def moments(optimizer: BlockOptimizer) -> dict[str, list[Tensor]]:
    return copy.deepcopy(optimizer.state_dict()["moments"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("decay", DECAYS)
def test_a_path_over_everything_is_torchs_own_optimiser(name: Name, decay: float) -> None:
    ours, theirs = family().supernet(0), family().supernet(0)
    optimizer = BlockOptimizer(module_of(ours), TrainRecipe(name, weight_decay=decay))
    reference = torch_optimizer(name, module_of(theirs), decay)
    gates = ours.whole()
    for k, rate in enumerate(RATES):
        block_step(ours, optimizer, gates, k, rate)
        torch_step(reference, lambda x: theirs(x, gates), k, rate, decay)
        for a, b in zip(module_of(ours).parameters(), module_of(theirs).parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("decay", DECAYS)
def test_a_narrow_path_is_torchs_own_optimiser_on_the_child(name: Name, decay: float) -> None:
    supernet = family().supernet(0)
    picks = (0, 2, 1)
    child = family().child(family().space.architecture(picks))
    child.load_state_dict(supernet.extract(picks))
    optimizer = BlockOptimizer(module_of(supernet), TrainRecipe(name, weight_decay=decay))
    reference = torch_optimizer(name, child, decay)
    for k, rate in enumerate(RATES):
        block_step(supernet, optimizer, one_path(picks), k, rate)
        torch_step(reference, child, k, rate, decay)
        for key, tensor in supernet.extract(picks).items():
            torch.testing.assert_close(tensor, child.state_dict()[key], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_outside_the_blocks_changes(name: Name) -> None:
    supernet = family().supernet(0)
    module = module_of(supernet)
    optimizer = BlockOptimizer(module, TrainRecipe(name))
    for k in range(3):  # momentum everywhere, so that a careless step would move everything
        block_step(supernet, optimizer, supernet.whole(), k, 0.01)
    for picks in [(0, 1, 0), (2, 0, 0), (0, 0, 2), (1, 2, 1)]:
        gates = one_path(picks)
        weights = {key: param.detach().clone() for key, param in module.named_parameters()}
        state = moments(optimizer)
        block_step(supernet, optimizer, gates, 7, 0.01)
        blocks = supernet.blocks(gates)
        after = moments(optimizer)
        for key, param in module.named_parameters():
            inside = torch.zeros(param.shape, dtype=torch.bool)
            inside[tuple(slice(extent) for extent in blocks[key])] = True
            pairs = [(param.detach(), weights[key])]
            pairs += list(zip(after[key], state[key], strict=True))
            for new, old in pairs:
                assert torch.equal(new[~inside], old[~inside])
                assert not torch.equal(new[inside], old[inside])


@pytest.mark.parametrize("name", NAMES)
def test_parameters_that_are_not_named_do_not_change(name: Name) -> None:
    module = nn.Linear(3, 2)
    optimizer = BlockOptimizer(module, TrainRecipe(name))
    bias = module.bias.detach().clone()
    leaves = optimizer.leaves({"weight": (2, 3)})
    optimizer.step(leaves, (torch.ones(2, 3),), 0.1)
    assert torch.equal(module.bias, bias)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_state_continues_bit_for_bit(name: Name) -> None:
    paths = [(2, 2, 2), (0, 1, 2), (1, 0, 0), (0, 1, 2)]
    supernet = family().supernet(0)
    optimizer = BlockOptimizer(module_of(supernet), TrainRecipe(name))
    for k, picks in enumerate(paths):
        block_step(supernet, optimizer, one_path(picks), k, 0.01)
    blob = io.BytesIO()
    torch.save([module_of(supernet).state_dict(), optimizer.state_dict()], blob)
    blob.seek(0)
    weights, state = torch.load(blob, weights_only=True)
    other = family().supernet(5)
    module_of(other).load_state_dict(weights)
    resumed = BlockOptimizer(module_of(other), TrainRecipe(name))
    resumed.load_state_dict(state)
    for k, picks in enumerate(paths, start=10):
        block_step(supernet, optimizer, one_path(picks), k, 0.01)
        block_step(other, resumed, one_path(picks), k, 0.01)
    for a, b in zip(module_of(supernet).parameters(), module_of(other).parameters(), strict=True):
        assert torch.equal(a, b)


def test_leaves_are_views_where_a_block_is_contiguous() -> None:
    module = nn.Linear(4, 6)
    optimizer = BlockOptimizer(module, TrainRecipe())
    whole = optimizer.leaves({"weight": (6, 4), "bias": (6,)})
    rows = optimizer.leaves({"weight": (3, 4), "bias": (2,)})
    for leaves in (whole, rows):
        for name, leaf in leaves.items():
            assert leaf.data_ptr() == module.get_parameter(name).data_ptr()
            assert leaf.is_leaf
            assert leaf.requires_grad
    columns = optimizer.leaves({"weight": (6, 2)})["weight"]
    assert torch.equal(columns, module.weight[:, :2])
    assert columns.is_contiguous()


def test_a_block_that_is_copied_is_written_back() -> None:
    module = nn.Linear(4, 6)
    before = module.weight.detach().clone()
    optimizer = BlockOptimizer(module, TrainRecipe("sgd", weight_decay=0.4))
    optimizer.step(optimizer.leaves({"weight": (5, 2)}), (torch.ones(5, 2),), 0.5)
    expected = before.clone()
    expected[:5, :2] = 0.8 * before[:5, :2] - 0.5
    torch.testing.assert_close(module.weight.detach(), expected)


def conv_net(layout: torch.memory_format) -> nn.Module:
    """Convolutions of the usual kinds: full, depthwise, pointwise."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.Conv2d(8, 5, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(5, 2),
    ).to(memory_format=layout)


def image_batch(k: int) -> Tensor:
    images = torch.randn(6, 3, 8, 8, generator=torch.Generator().manual_seed(k))
    return images.contiguous(memory_format=torch.channels_last)


IMAGE_RECIPES = [
    TrainRecipe("sgd", weight_decay=0.0, nesterov=True),
    TrainRecipe("sgd", weight_decay=0.3, decay="gradient"),
    TrainRecipe("sgd", weight_decay=0.3, decay="gradient", nesterov=True),
    TrainRecipe("sgd", weight_decay=0.3, decay="gradient", nesterov=True, clip=0.05),
    TrainRecipe("sgd", weight_decay=0.3, decay="gradient", nesterov=True, clip=1000.0),
    TrainRecipe("adam", weight_decay=0.3, decay="gradient", clip=0.05),
    TrainRecipe("adam", weight_decay=0.0, adam_eps=0.1),
]


@pytest.mark.parametrize("recipe", IMAGE_RECIPES)
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_convolutions_are_trained_as_by_torch(
    recipe: TrainRecipe, layout: torch.memory_format
) -> None:
    ours, theirs = conv_net(layout), conv_net(torch.contiguous_format)
    optimizer = BlockOptimizer(ours, recipe)
    reference: torch.optim.Optimizer
    if recipe.optimizer == "sgd":
        reference = torch.optim.SGD(
            theirs.parameters(),
            lr=1.0,
            momentum=0.9,
            nesterov=recipe.nesterov,
            weight_decay=recipe.weight_decay,
        )
    else:
        reference = torch.optim.Adam(
            theirs.parameters(), lr=1.0, eps=recipe.adam_eps, weight_decay=recipe.weight_decay
        )
    extents = {name: tuple(param.shape) for name, param in ours.named_parameters()}
    for k, rate in enumerate(RATES * 2):
        leaves = optimizer.leaves(extents)
        outputs = torch.func.functional_call(ours, leaves, (image_batch(k),))
        grads = torch.autograd.grad(loss_of(outputs), list(leaves.values()))
        optimizer.step(leaves, grads, rate)
        reference.param_groups[0]["lr"] = rate
        reference.zero_grad()
        loss_of(theirs(image_batch(k).contiguous())).backward()
        if recipe.clip is not None:
            nn.utils.clip_grad_norm_(theirs.parameters(), recipe.clip)
        reference.step()
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a.detach(), b.detach(), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_gradients_may_lie_in_memory_in_another_order(
    name: Name, layout: torch.memory_format
) -> None:
    """As convolutions give them for images with their channels last."""
    shape = (4, 3, 3, 3)
    grad = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = []
    for given in (torch.channels_last, torch.contiguous_format):
        module = nn.Conv2d(3, 4, 3, bias=False)
        nn.init.ones_(module.weight)
        module = module.to(memory_format=layout)
        optimizer = BlockOptimizer(module, TrainRecipe(name))
        for _ in range(2):
            laid_out = grad.contiguous(memory_format=given)
            optimizer.step(optimizer.leaves({"weight": shape}), (laid_out,), 0.1)
        found.append(module.weight.detach())
    assert torch.equal(*found)
    assert found[0].is_contiguous(memory_format=layout)


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("extent", [(4, 3, 3, 3), (2, 3, 3, 3), (4, 2, 3, 3), (1, 1, 3, 3)])
def test_blocks_of_convolutions_are_updated_in_place(
    layout: torch.memory_format, extent: tuple[int, ...]
) -> None:
    module = nn.Conv2d(3, 4, 3, bias=False).to(memory_format=layout)
    before = module.weight.detach().clone()
    recipe = TrainRecipe("sgd", weight_decay=0.0)
    optimizer = BlockOptimizer(module, recipe)
    expected, momentum = before.clone(), torch.zeros_like(before)
    inside = tuple(slice(one) for one in extent)
    for k in range(3):
        leaves = optimizer.leaves({"weight": extent})
        shares = leaves["weight"].data_ptr() == module.weight.data_ptr()
        assert shares or extent[1] < 3  # a copy only where numbers in between are left out
        grad = torch.randn(extent, generator=torch.Generator().manual_seed(k))
        optimizer.step(leaves, (grad,), 0.1)
        momentum[inside] = 0.9 * momentum[inside] + grad
        expected[inside] -= 0.1 * momentum[inside]
    torch.testing.assert_close(module.weight.detach(), expected)
    torch.testing.assert_close(moments(optimizer)["weight"][0], momentum)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clip", [None, 0.1])
def test_leaves_that_took_no_part_stay_as_they_are(name: Name, clip: float | None) -> None:
    module = nn.Linear(3, 2)
    optimizer = BlockOptimizer(module, TrainRecipe(name, clip=clip))
    extents = {"weight": (2, 3), "bias": (2,)}
    optimizer.step(optimizer.leaves(extents), (torch.ones(2, 3), torch.ones(2)), 0.1)
    weight, bias = module.weight.detach().clone(), module.bias.detach().clone()
    before = copy.deepcopy(optimizer.state_dict())
    optimizer.step(optimizer.leaves(extents), (None, torch.ones(2)), 0.1)
    after = optimizer.state_dict()
    assert torch.equal(module.weight, weight)
    assert not torch.equal(module.bias, bias)
    for old, new in zip(before["moments"]["weight"], after["moments"]["weight"], strict=True):
        assert torch.equal(old, new)
    assert after["steps"]["weight"] == before["steps"]["weight"]
    optimizer.step(optimizer.leaves(extents), (None, None), 0.1)
    assert torch.equal(module.weight, weight)


def test_clipping_scales_gradients_together_and_copies_them() -> None:
    grads = [torch.full((3,), 2.0), torch.full((2, 2), -1.0)]  # a norm of 4
    found = clipped(grads, 1.0)
    torch.testing.assert_close(found, [grad / 4 for grad in grads], rtol=1e-5, atol=0.0)
    assert [float(grad.max()) for grad in grads] == [2.0, -1.0]
    assert all(torch.equal(a, b) for a, b in zip(clipped(grads, 5.0), grads, strict=True))
