from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from meritnas import tabular_space
from meritnas.child.train import make_optimizer, outputs_of, train_child
from meritnas.data.bundle import Part
from meritnas.errors import DivergedError
from meritnas.search.recipe import ADAM_EPS, TrainRecipe


def mean_square(
    outputs: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    losses = (outputs[:, 0] - target).square()
    return losses.mean() if weights is None else (losses * weights).mean()


def noisy_part(rows: int, seed: int) -> Part:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, 4, generator=generator)
    return Part(inputs, inputs[:, 0] + torch.randn(rows, generator=generator))


TRAIN, VALID = noisy_part(60, 0), noisy_part(40, 1)
FAMILY = tabular_space(4, 1, 2, (4, 32))


def test_the_best_epoch_is_kept() -> None:
    # A rate so high and a table so noisy that the last epoch is not the best.
    recipe = TrainRecipe("adam", 0.05, "constant", 10)
    trained = train_child(FAMILY.child("32-32"), TRAIN, VALID, mean_square, recipe, 25, 0)
    assert trained.valid_loss == min(trained.valid_losses)
    assert trained.best_epoch == 1 + int(np.argmin(trained.valid_losses))
    assert trained.best_epoch < 25
    assert trained.valid_losses[-1] > trained.valid_loss
    found = mean_square(outputs_of(trained.module, VALID.inputs), VALID.target)
    assert float(found) == trained.valid_loss
    assert len(trained.valid_losses) == len(trained.train_losses) == 25


def test_training_is_decided_by_the_seed() -> None:
    def train(seed: int) -> dict[str, torch.Tensor]:
        recipe = TrainRecipe(batch_size=16)
        child = FAMILY.child("4-32", seed=1)
        trained = train_child(child, TRAIN, VALID, mean_square, recipe, 3, seed)
        return dict(trained.module.state_dict())

    first, again, other = train(0), train(0), train(1)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", ["adam", "sgd"])
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
@pytest.mark.parametrize("decay", [0.0, 2.0])
def test_training_follows_the_recipe(
    name: Literal["adam", "sgd"], schedule: Literal["constant", "cosine"], decay: float
) -> None:
    """Against a loop written out here; one batch an epoch, so that the order does not matter."""
    recipe = TrainRecipe(name, 0.03, schedule, 1000, weight_decay=decay)
    child = FAMILY.child("4-4", seed=2)
    trained = train_child(child, TRAIN, VALID, mean_square, recipe, 5, 0)
    module = FAMILY.child("4-4", seed=2)
    optimizer: torch.optim.Optimizer
    if name == "adam":
        optimizer = torch.optim.Adam(module.parameters(), lr=1.0, eps=ADAM_EPS)
    else:
        optimizer = torch.optim.SGD(module.parameters(), lr=1.0, momentum=0.9)
    for epoch in range(5):
        falling = 0.5 * (1 + np.cos(np.pi * epoch / 5)) if schedule == "cosine" else 1.0
        for group in optimizer.param_groups:
            group["lr"] = 0.03 * falling
        optimizer.zero_grad()
        loss = mean_square(module(TRAIN.inputs), TRAIN.target)
        loss.backward()
        with torch.no_grad():  # apart from the gradient, and of the matrices alone
            for i in (0, 3, 6):
                linear = module[i]
                assert isinstance(linear, nn.Linear)
                linear.weight *= 1 - 0.03 * falling * decay
        optimizer.step()
        assert trained.train_losses[epoch] == pytest.approx(loss.item(), rel=1e-4)


def test_epochs_are_told_in_order() -> None:
    told: list[int] = []
    recipe = TrainRecipe(batch_size=16)
    train_child(FAMILY.child("4-4"), TRAIN, VALID, mean_square, recipe, 3, 0, told.append)
    assert told == [1, 2, 3]


def test_outputs_are_computed_in_pieces_without_gradient_and_in_eval_mode() -> None:
    module = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))
    inputs = torch.randn(20_000, 4)
    found = outputs_of(module, inputs)
    assert not found.requires_grad
    torch.testing.assert_close(found, module[0](inputs))
    assert outputs_of(module, inputs[:0]).shape == (0, 2)
    assert module.training


def test_the_optimiser_leaves_the_decay_to_the_loop() -> None:
    module = FAMILY.child("4-4")
    adam = make_optimizer(module, TrainRecipe("adam", 0.01)).param_groups[0]
    assert (adam["betas"], adam["eps"], adam["weight_decay"]) == ((0.9, 0.999), ADAM_EPS, 0)
    sgd = make_optimizer(module, TrainRecipe("sgd", 0.01)).param_groups[0]
    assert (sgd["momentum"], sgd["weight_decay"], sgd["nesterov"]) == (0.9, 0, False)


def test_training_that_diverges_says_so() -> None:
    def broken(
        outputs: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None
    ) -> torch.Tensor:
        return mean_square(outputs, target, weights) * float("nan")

    recipe = TrainRecipe(batch_size=16)
    with pytest.raises(DivergedError):
        train_child(FAMILY.child("4-4"), TRAIN, VALID, broken, recipe, 2, 0)


@pytest.mark.parametrize("averaging", [0.0, 0.5, 0.99])
def test_what_is_judged_and_kept_is_a_moving_average(averaging: float) -> None:
    """Against a loop written out here; one batch an epoch, so that the order does not matter."""
    recipe = TrainRecipe("sgd", 0.03, "constant", 1000, weight_decay=0.0, averaging=averaging)
    trained = train_child(FAMILY.child("4-4", seed=2), TRAIN, VALID, mean_square, recipe, 8, 0)
    module, average = FAMILY.child("4-4", seed=2), FAMILY.child("4-4", seed=2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(8):
        optimizer.zero_grad()
        mean_square(module(TRAIN.inputs), TRAIN.target).backward()
        optimizer.step()
        kept = min(averaging, (1 + epoch) / (10 + epoch)) if averaging else 0.0
        with torch.no_grad():
            for own, other in zip(average.parameters(), module.parameters(), strict=True):
                own.copy_(kept * own + (1 - kept) * other)
        expected = mean_square(average(VALID.inputs), VALID.target).item()
        assert trained.valid_losses[epoch] == pytest.approx(expected, rel=1e-4)
        if trained.best_epoch == epoch + 1:
            best = {name: value.clone() for name, value in average.state_dict().items()}
    for name, value in trained.module.state_dict().items():
        torch.testing.assert_close(value, best[name], rtol=1e-4, atol=1e-5)
