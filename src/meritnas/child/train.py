from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.errors import DivergedError
from meritnas.families.family import seeded
from meritnas.search.block_optimizer import decay_matrices
from meritnas.search.recipe import ADAM_EPS, TrainRecipe

_ROWS_AT_ONCE = 8192

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Trained:
    """A network after training.

    Attributes:
        module: with the weights of its best epoch.
        best_epoch: counted from 1.
        valid_loss: of that epoch.
        train_losses: the mean training loss of each epoch.
        valid_losses: the validation loss after each epoch.
    """

    module: nn.Module
    best_epoch: int
    valid_loss: float
    train_losses: tuple[float, ...]
    valid_losses: tuple[float, ...]


def train_child(
    module: nn.Module,
    train: Part,
    valid: Part,
    loss: Loss,
    recipe: TrainRecipe,
    epochs: int,
    seed: int,
    after_epoch: Callable[[int], bool | None] | None = None,
) -> Trained:
    """Train a network alone and keep the epoch with the smallest validation loss.

    Args:
        module: fresh; trained in place.
        train: rows to learn from.
        valid: rows that choose the epoch.
        loss: (outputs, target, weights) -> mean loss.
        recipe: optimiser, learning rate, schedule, batch size.
        epochs: passes over `train`.
        seed: the order of batches.
        after_epoch: told the number of each finished epoch; training ends there if it returns True.
    """
    stream = BatchStream(train, recipe.batch_size, seed)
    optimizer = make_optimizer(module, recipe)
    weights = [param.detach() for param in module.parameters()]
    average = _Average(module)
    steps = stream.steps_per_epoch * epochs
    done = 0
    best: dict[str, Tensor] = {}
    best_epoch, best_loss = 0, float("inf")
    train_losses: list[float] = []
    valid_losses: list[float] = []
    with seeded(seed):  # dropout draws from torch's own generator
        for epoch in range(1, epochs + 1):
            total = torch.zeros((), device=train.target.device)
            for _ in range(stream.steps_per_epoch):
                rate = recipe.rate_at(done, steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                batch = stream.next()
                optimizer.zero_grad(set_to_none=True)
                value = loss(module(batch.inputs), batch.target, batch.weights)
                value.backward()
                if recipe.weight_decay:
                    decay_matrices(weights, recipe.decay_at(rate))
                optimizer.step()
                average.follow(weights, recipe.averaging_at(done))
                total += value.detach()
                done += 1
            train_losses.append(float(total) / stream.steps_per_epoch)
            kept = average.module_like(module)
            valid_losses.append(
                float(loss(outputs_of(kept, valid.inputs), valid.target, valid.weights))
            )
            if not math.isfinite(train_losses[-1] + valid_losses[-1]):
                raise DivergedError
            if valid_losses[-1] < best_loss:
                best_epoch, best_loss = epoch, valid_losses[-1]
                best = {name: value.detach().clone() for name, value in kept.state_dict().items()}
            if after_epoch is not None and after_epoch(epoch):
                break
    module.load_state_dict(best)
    return Trained(module, best_epoch, best_loss, tuple(train_losses), tuple(valid_losses))


class _Average:
    """A moving average of a network's weights, as a network of its own."""

    def __init__(self, module: nn.Module) -> None:
        self._module = copy.deepcopy(module)
        self._weights = [param.detach() for param in self._module.parameters()]

    def follow(self, weights: list[Tensor], kept: float) -> None:
        """Move towards the weights; `kept` of the average stays."""
        torch._foreach_lerp_(self._weights, weights, 1.0 - kept)

    def module_like(self, module: nn.Module) -> nn.Module:
        """The averaged network; what is no weight, such as running means, is taken as it is."""
        for own, other in zip(self._module.buffers(), module.buffers(), strict=True):
            own.copy_(other)
        return self._module


def make_optimizer(module: nn.Module, recipe: TrainRecipe) -> torch.optim.Optimizer:
    """The recipe's optimiser over a whole network."""
    fused = {param.device.type for param in module.parameters()} <= {"cpu", "cuda"}
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(
            module.parameters(), lr=recipe.learning_rate, momentum=0.9, fused=fused
        )
    return torch.optim.Adam(module.parameters(), lr=recipe.learning_rate, eps=ADAM_EPS, fused=fused)


@torch.no_grad()
def outputs_of(module: nn.Module, inputs: Tensor) -> Tensor:
    """Outputs [n, outputs] for any number of rows, computed some thousands at a time."""
    was_training = module.training
    module.eval()
    parts = [
        module(inputs[start : start + _ROWS_AT_ONCE])
        for start in range(0, max(1, len(inputs)), _ROWS_AT_ONCE)
    ]
    module.train(was_training)
    return torch.cat(parts)
