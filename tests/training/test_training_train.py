from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from meritnas import tabular_space
from meritnas.data.bundle import Part
from meritnas.data.rows_at_once import rows_at_once
from meritnas.data.stream import BatchStream
from meritnas.errors import DivergedError, UsageError
from meritnas.families.drop_path import DropPath
from meritnas.settings.augment import Augment
from meritnas.settings.recipe import ADAM_EPS, TrainRecipe
from meritnas.training.train import make_optimizer, outputs_of, train_child


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
    eps = make_optimizer(module, TrainRecipe(adam_eps=1e-3)).param_groups[0]["eps"]
    assert eps == 1e-3
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


def noisy_images(rows: int, seed: int) -> Part:
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(rows, 2, 6, 6, generator=generator)
    images = images.contiguous(memory_format=torch.channels_last)
    return Part(images, images.mean((1, 2, 3)) + torch.randn(rows, generator=generator))


IMAGES, VALID_IMAGES = noisy_images(40, 0), noisy_images(30, 1)


class TwoHeads(nn.Module):
    """A small network for images with an auxiliary head, and a drop-path of no rate."""

    def __init__(self, seed: int = 0, drop: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), DropPath(drop))
        self.output = nn.Linear(4, 1)
        self.auxiliary = nn.Linear(4, 1)
        self.rates: list[float] = []

    def both(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        path = self.body[3]
        assert isinstance(path, DropPath)
        self.rates.append(path.rate)
        units = self.body(inputs).mean((2, 3))
        return self.output(units), self.auxiliary(units)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.both(inputs)[0]


@pytest.mark.parametrize("auxiliary", [0.0, 0.4])
@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("augment", [Augment(), Augment(1, True, 2)])
def test_training_on_images_follows_the_recipe(
    auxiliary: float, clip: float | None, augment: Augment
) -> None:
    """Against a loop written out here with torch's own optimiser."""
    recipe = TrainRecipe(
        "sgd",
        0.05,
        batch_size=16,
        weight_decay=0.1,
        averaging=0.0,
        nesterov=True,
        clip=clip,
        decay="gradient",
        final_rate=0.01,
        auxiliary=auxiliary,
        augment=augment,
    )
    trained = train_child(TwoHeads(), IMAGES, VALID_IMAGES, mean_square, recipe, 3, 5)
    module = TwoHeads()
    optimizer = torch.optim.SGD(
        module.parameters(), lr=1.0, momentum=0.9, nesterov=True, weight_decay=0.1
    )
    stream = BatchStream(IMAGES, 16, 5, augment)
    for epoch in range(3):
        total = 0.0
        for i in range(2):
            turned = 1 + np.cos(np.pi * (2 * epoch + i) / 6)
            optimizer.param_groups[0]["lr"] = 0.01 + 0.04 * 0.5 * turned
            batch = stream.next()
            optimizer.zero_grad()
            outputs, helping = module.both(batch.inputs)
            loss = mean_square(outputs, batch.target)
            (loss + auxiliary * mean_square(helping, batch.target)).backward()
            if not auxiliary:
                module.auxiliary.zero_grad()
            if clip is not None:
                nn.utils.clip_grad_norm_(module.parameters(), clip)
            optimizer.step()
            total += loss.item() / 2
        assert trained.train_losses[epoch] == pytest.approx(total, rel=1e-4)
        valid = mean_square(outputs_of(module, VALID_IMAGES.inputs), VALID_IMAGES.target)
        assert trained.valid_losses[epoch] == pytest.approx(valid.item(), rel=1e-4)


def test_drop_path_grows_with_the_epochs() -> None:
    recipe = TrainRecipe("sgd", 0.01, batch_size=20, auxiliary=0.4)
    module = TwoHeads(drop=0.4)
    train_child(module, IMAGES, VALID_IMAGES, mean_square, recipe, 4, 0)
    assert module.rates == pytest.approx([0.0, 0.0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3])


def test_an_auxiliary_loss_needs_an_auxiliary_head() -> None:
    recipe = TrainRecipe(auxiliary=0.4)
    with pytest.raises(UsageError, match=r"auxiliary=0\.4 needs .* got a Sequential; set"):
        train_child(FAMILY.child("4-4"), TRAIN, VALID, mean_square, recipe, 2, 0)


def test_the_optimiser_of_papers_on_images() -> None:
    recipe = TrainRecipe("sgd", 0.1, weight_decay=5e-4, decay="gradient", nesterov=True)
    sgd = make_optimizer(TwoHeads(), recipe).param_groups[0]
    assert (sgd["momentum"], sgd["weight_decay"], sgd["nesterov"]) == (0.9, 5e-4, True)


def test_images_are_looked_at_in_small_numbers_and_tables_as_ever() -> None:
    assert rows_at_once(torch.empty(1, 4)) == rows_at_once(torch.empty(1, 5000)) == 8192
    assert rows_at_once(torch.empty(1, 3, 224, 224)) == 64
    assert 100 <= rows_at_once(torch.empty(1, 3, 32, 32)) <= 1000
    assert rows_at_once(torch.empty(1, 1, 2, 2)) == 8192
    module = TwoHeads().eval()
    images = noisy_images(300, 0).inputs.repeat(1, 1, 30, 30)
    torch.testing.assert_close(outputs_of(module, images), module(images).detach())


@pytest.mark.parametrize("outputs", [1, 3])
def test_smoothing_asks_for_all_classes_alike(outputs: int) -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(64, 4, generator=generator)
    if outputs == 1:
        part = Part(inputs, (inputs[:, 0] > 0).float())

        def loss(
            found: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None = None
        ) -> torch.Tensor:
            del weights
            return nn.functional.binary_cross_entropy_with_logits(found[:, 0], target)
    else:
        part = Part(inputs, inputs[:, :3].argmax(1))

        def loss(
            found: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None = None
        ) -> torch.Tensor:
            del weights
            return nn.functional.cross_entropy(found, target)

    family = tabular_space(4, outputs, 1, (16,))

    def surest(smoothing: float) -> float:
        recipe = TrainRecipe("adam", 0.05, "constant", 64, 0.0, 0.0, 0.0, smoothing=smoothing)
        trained = train_child(family.child("16"), part, part, loss, recipe, 300, 0)
        found = outputs_of(trained.module, part.inputs)
        both = torch.cat([found, torch.zeros_like(found)], 1) if outputs == 1 else found
        return float(torch.softmax(both, 1).max(1).values.mean())

    assert surest(0.0) > 0.99
    # The best answer to two, three classes is 1 - s + s / 2 and 1 - s + s / 3.
    assert surest(0.3) == pytest.approx(0.85 if outputs == 1 else 0.8, abs=0.02)
