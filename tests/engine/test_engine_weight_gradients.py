from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from meritnas import TableInputs, nasbench201_space, tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import Batch, BatchStream
from meritnas.engine.weight_gradients import Drawn, mean_gradients, path_gradients
from meritnas.families.family import Family
from meritnas.settings.recipe import TrainRecipe
from meritnas.supernet.gates import one_path
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Supernet, module_of
from meritnas.training.block_optimizer import BlockOptimizer
from meritnas.workers.virtual import VirtualWorkers

TABLE = tabular_space(TableInputs(3, (4,), embedding=2), 1, 2, (2, 4, 6))
CELLS = nasbench201_space(2, channels=4, cells=1, image=(3, 8, 8))


def square(outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    del weights
    return (outputs[:, 0] - target).square().mean()


def rows_for(family: Family, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    if family is CELLS:
        return torch.randn(count, 3, 8, 8, generator=generator)
    numbers = torch.randn(count, 3, generator=generator)
    return torch.cat([numbers, torch.randint(4, (count, 1), generator=generator).float()], 1)


def parts(family: Family, workers: int) -> tuple[Probe, Supernet, BlockOptimizer]:
    rows = rows_for(family, 40)
    part = Part(rows, rows.flatten(1)[:, 0])
    supernet = family.supernet(0)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    probe = Probe(supernet, square, *streams, part, workers=VirtualWorkers(workers))
    recipe = TrainRecipe(batch_size=8, learning_rate=0.02, weight_decay=0.5)
    return probe, supernet, BlockOptimizer(module_of(supernet), recipe)


def drawn(family: Family, probe: Probe, count: int, seed: int) -> list[Drawn]:
    rng = np.random.default_rng(seed)
    space = family.space
    picks = [space.picks(space.random(rng)) for _ in range(count)]
    return [(one_path(row), probe.train_batch()) for row in picks]


def whole_gradients(supernet: Supernet, one: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
    """For each parameter its gradient on a path, zeros where it has none, and who has one."""
    module, (gates, batch) = module_of(supernet), one
    named = dict(module.named_parameters())
    loss = square(supernet(batch.inputs, gates), batch.target)
    grads = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    found = {}
    for (name, param), grad in zip(named.items(), grads, strict=True):
        used = torch.zeros_like(param)
        if grad is not None and name in supernet.blocks(gates):
            used[tuple(slice(extent) for extent in supernet.blocks(gates)[name])] = 1.0
        found[name] = (torch.zeros_like(param) if grad is None else grad, used)
    return found


@pytest.mark.parametrize("family", [TABLE, CELLS], ids=["table", "cells"])
@pytest.mark.parametrize(("count", "seed"), [(2, 0), (2, 1), (3, 2), (5, 3)])
def test_each_weight_gets_the_mean_over_the_workers_that_used_it(
    family: Family, count: int, seed: int
) -> None:
    probe, supernet, optimizer = parts(family, count)
    paths = drawn(family, probe, count, seed)
    found = mean_gradients(probe, supernet, optimizer, paths)
    single = [whole_gradients(supernet, one) for one in paths]
    means = dict(zip(found.leaves, found.grads, strict=True))
    for name, param in module_of(supernet).named_parameters():
        used = torch.stack([grads[name][1] for grads in single]).sum(0)
        total = torch.stack([grads[name][0] for grads in single]).sum(0)
        mean, moved = torch.zeros_like(param), torch.zeros_like(param)
        if name in means:
            block = tuple(slice(extent) for extent in found.leaves[name].shape)
            grad = means[name]
            assert grad is not None
            mean[block] = grad
            moved[block] = found.used[name].float() if name in found.used else 1.0
        torch.testing.assert_close(mean, total / used.clamp(min=1))
        assert torch.equal(moved > 0, used > 0), name
    assert probe.passes == count
    losses = [path_gradients(probe, supernet, optimizer, one).loss for one in paths]
    torch.testing.assert_close(found.loss, torch.stack(losses).mean())


def test_workers_that_do_the_same_move_weights_as_one_does() -> None:
    probe, supernet, optimizer = parts(TABLE, 2)
    (one,) = drawn(TABLE, probe, 1, 4)
    alone = path_gradients(probe, supernet, optimizer, one)
    both = mean_gradients(probe, supernet, optimizer, [one, one])
    assert not both.used
    for grad, mean in zip(alone.grads, both.grads, strict=True):
        assert grad is not None
        assert mean is not None
        assert torch.equal(grad, mean)


@pytest.mark.parametrize("optimizer_name", ["adam", "sgd"])
def test_what_no_worker_used_is_left_alone(optimizer_name: str) -> None:
    """Two blocks that are each larger in another direction leave a corner between them."""
    probe, supernet, _ = parts(TABLE, 2)
    recipe = TrainRecipe(optimizer=optimizer_name, learning_rate=0.02, weight_decay=0.5)  # type: ignore[arg-type]
    optimizer = BlockOptimizer(module_of(supernet), recipe)
    weight = module_of(supernet).get_parameter("layers.1.linear.weight")
    everything = (one_path([2, 2]), probe.train_batch())
    first = mean_gradients(probe, supernet, optimizer, [everything, everything])
    optimizer.step(first.leaves, first.grads, 0.02, first.used)  # so that all has momentum
    before = weight.detach().clone()
    moments = [one.clone() for one in optimizer.state_dict()["moments"]["layers.1.linear.weight"]]
    # Widths 2 then 6, and 6 then 2: blocks [6, 2] and [2, 6].
    corner = [(one_path(picks), probe.train_batch()) for picks in ([0, 2], [2, 0])]
    found = mean_gradients(probe, supernet, optimizer, corner)
    assert found.leaves["layers.1.linear.weight"].shape == (6, 6)
    optimizer.step(found.leaves, found.grads, 0.02, found.used)
    used = torch.zeros(6, 6, dtype=torch.bool)
    used[:, :2] = used[:2, :] = True
    assert torch.equal(weight.detach() != before, used)
    after = optimizer.state_dict()["moments"]["layers.1.linear.weight"]
    for old, new in zip(moments, after, strict=True):
        assert torch.equal(old[~used], new[~used])
        assert not torch.equal(old[used], new[used])


@pytest.mark.parametrize("count", [2, 3, 7])
def test_losses_of_several_networks_are_those_of_one_worker(count: int) -> None:
    (alone, *_), (several, *_) = parts(TABLE, 1), parts(TABLE, count)
    rng = np.random.default_rng(0)
    picks = np.array([TABLE.space.picks(TABLE.space.random(rng)) for _ in range(5)])
    batch: Batch = alone.valid_batch()
    np.testing.assert_allclose(several.losses(picks, batch), alone.losses(picks, batch), 1e-6)
    np.testing.assert_array_equal(several.held_out_losses(picks), alone.held_out_losses(picks))
    assert several.passes == alone.passes
    assert [alone.held_out_loss(row) for row in picks] == several.held_out_losses(picks).tolist()
    assert len(several.losses(picks[:0], batch)) == 0
