"""Trains one network from scratch and keeps its best epoch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.rows import Rows
from meritnas.data.rows_at_once import rows_at_once
from meritnas.data.stream import Batch, ContinuingStream, make_stream
from meritnas.devices.placement import has_fused_steps, zeros_beside
from meritnas.devices.precision import computing_in, single
from meritnas.errors import DivergedError, UsageError
from meritnas.families.drop_path import ramp_drop_paths
from meritnas.families.family import seeded
from meritnas.settings.recipe import TrainRecipe
from meritnas.training.block_optimizer import decay_matrices

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]


@runtime_checkable
class HasAuxiliaryHead(Protocol):
    """A network with a second output half way up that helps to train it (Szegedy et al., 2015)."""

    def both(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs [n, outputs], and those of the auxiliary head [n, outputs]."""
        ...


@runtime_checkable
class LearnsInParts(Protocol):
    """A network whose parts each give the answer, and learn it each by a loss of its own."""

    def outputs_of_each(self, inputs: Tensor) -> Sequence[Tensor]:
        """The outputs [n, outputs] of each part."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """A network that reads words in order."""

    def advance(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(outputs, the state after the last word), from a state or a fresh one."""
        ...


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
    train: Rows,
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
        recipe: optimiser, learning rate, schedule, batch size, what is done to images.
        epochs: passes over `train`; drop-path grows from none towards its final rate with them.
        seed: the order of batches.
        after_epoch: told the number of each finished epoch; training ends there if it returns True.

    Raises:
        UsageError: the recipe has an auxiliary loss, but the network no auxiliary head.
    """
    if recipe.auxiliary and not isinstance(module, HasAuxiliaryHead):
        raise UsageError(
            f"auxiliary={recipe.auxiliary} needs a network with an auxiliary head (a method "
            f"`both`), got a {type(module).__name__}; set auxiliary to 0"
        )
    stream = make_stream(train, recipe.batch_size, seed, recipe.augment)
    optimizer = make_optimizer(module, recipe)
    parameters = list(module.parameters())
    weights = [param.detach() for param in parameters]
    average = _Average(module)
    steps = stream.steps_per_epoch * epochs
    done = 0
    best: dict[str, Tensor] = {}
    best_epoch, best_loss = 0, float("inf")
    train_losses: list[float] = []
    valid_losses: list[float] = []
    with seeded(seed):  # dropout draws from torch's own generator
        for epoch in range(1, epochs + 1):
            ramp_drop_paths(module, (epoch - 1) / epochs)
            total = zeros_beside(valid.target)
            for _ in range(stream.steps_per_epoch):
                rate = recipe.rate_at(done, steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                batch = stream.next()
                optimizer.zero_grad(set_to_none=True)
                value, minimised = _step_losses(module, batch, loss, recipe)
                minimised.backward()
                if recipe.clip is not None:
                    nn.utils.clip_grad_norm_(parameters, recipe.clip)
                decay_matrices(weights, recipe.decay_at(rate))
                optimizer.step()
                average.follow(weights, recipe.averaging_at(done))
                total += value.detach()
                done += 1
            train_losses.append(float(total) / stream.steps_per_epoch)
            kept = average.module_like(module)
            valid_losses.append(loss_on(kept, valid, loss))
            if not math.isfinite(train_losses[-1] + valid_losses[-1]):
                raise DivergedError
            if valid_losses[-1] < best_loss:
                best_epoch, best_loss = epoch, valid_losses[-1]
                best = {name: value.detach().clone() for name, value in kept.state_dict().items()}
            if after_epoch is not None and after_epoch(epoch):
                break
    module.load_state_dict(best)
    return Trained(module, best_epoch, best_loss, tuple(train_losses), tuple(valid_losses))


def _step_losses(
    module: nn.Module, batch: Batch, loss: Loss, recipe: TrainRecipe
) -> tuple[Tensor, Tensor]:
    """A batch's loss, and what is minimised: smoothed, with the auxiliary head's, or the same.

    Of a network that learns in parts, the mean of their losses, and the sum of what each minimises:
    gradients are those that the parts would have alone (only clipping looks at all together).
    """
    if isinstance(module, LearnsInParts):
        with computing_in(recipe.precision, batch.inputs):
            each = module.outputs_of_each(batch.inputs)
        found = [_losses(single(outputs), batch, loss, recipe) for outputs in each]
        values, minimised_each = zip(*found, strict=True)
        return torch.stack(values).mean(), torch.stack(minimised_each).sum()
    helping: Tensor | None = None
    if recipe.auxiliary:
        assert isinstance(module, HasAuxiliaryHead)
        with computing_in(recipe.precision, batch.inputs):
            outputs, helping = module.both(batch.inputs)
    else:
        outputs = _outputs(module, batch, recipe.precision)
    value, minimised = _losses(single(outputs), batch, loss, recipe)
    if helping is not None:
        helped = loss(single(helping), batch.target, batch.weights)
        minimised = minimised + recipe.auxiliary * helped
    return value, minimised


def _losses(
    outputs: Tensor, batch: Batch, loss: Loss, recipe: TrainRecipe
) -> tuple[Tensor, Tensor]:
    """The loss of a batch's outputs, and the same with smoothed targets and what a teacher says.

    A share of it asks for the teacher's answers (Hinton, Vinyals and Dean, 2015, at temperature 1):
    cross entropy with its chances, squared distance from its numbers.
    """
    value = minimised = loss(outputs, batch.target, batch.weights)
    if batch.taught is not None:
        taught = loss(outputs, batch.taught, batch.weights)
        minimised = value + recipe.teacher_share * (taught - value)
    if not recipe.smoothing:
        return value, minimised
    everyone = _loss_of_all(outputs, batch.weights)
    return value, minimised + recipe.smoothing * (everyone - minimised)


def _loss_of_all(outputs: Tensor, weights: Tensor | None) -> Tensor:
    """The mean loss over all classes as the target; one output stands for two of them."""
    if outputs.shape[-1] == 1:
        both = torch.cat([outputs, torch.zeros_like(outputs)], dim=-1)
        return _loss_of_all(both, weights)
    losses = -torch.log_softmax(outputs, dim=-1).mean(dim=-1)
    return losses.mean() if weights is None else (losses * weights).mean()


def _outputs(module: nn.Module, batch: Batch, precision: str = "float32") -> Tensor:
    """What a network says; where batches continue each other, it goes on where it was."""
    with computing_in(precision, batch.inputs):
        if batch.carry is None:
            outputs: Tensor = module(batch.inputs)
            return outputs
        assert isinstance(module, Remembers)
        outputs, state = module.advance(batch.inputs, batch.carry.state)
    batch.carry.after = single(state.detach())  # truncated back-propagation through time
    return outputs


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
    fused = has_fused_steps(module.parameters())
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(
            module.parameters(),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=recipe.nesterov,
            weight_decay=recipe.gradient_decay,
            fused=fused,
        )
    return torch.optim.Adam(
        module.parameters(),
        lr=recipe.learning_rate,
        eps=recipe.adam_eps,
        weight_decay=recipe.gradient_decay,
        fused=fused,
    )


@torch.no_grad()
def loss_on(module: nn.Module, part: Part, loss: Loss) -> float:
    """The mean loss on a part; pieces of a text that continue each other are read as a whole."""
    was_training = module.training
    module.eval()
    total, rows = 0.0, 0
    with seeded(0):
        for batch in _once_through(part):
            value = loss(_outputs(module, batch), batch.target, batch.weights)
            total += float(value) * len(batch.target)
            rows += len(batch.target)
    module.train(was_training)
    return total / rows


def _once_through(part: Part) -> Iterator[Batch]:
    """All of a part in its order, some rows at a time; each is to be looked at before the next."""
    if part.columns is not None:
        stream = ContinuingStream(part)
        for _ in range(stream.steps_per_epoch):
            yield stream.next()
        return
    some = rows_at_once(part.inputs)
    for start in range(0, len(part), some):
        one = part.slice(start, start + some)
        yield Batch(one.inputs, one.target, one.weights)


@torch.no_grad()
def outputs_of(module: nn.Module, inputs: Tensor) -> Tensor:
    """Outputs [n, outputs] for any number of rows or images, computed some at a time.

    A network that draws noise itself (space S4) draws the same every time.
    """
    was_training = module.training
    module.eval()
    some = rows_at_once(inputs)
    starts = range(0, max(1, len(inputs)), some)
    with seeded(0):
        parts = [module(inputs[start : start + some]) for start in starts]
    module.train(was_training)
    return torch.cat(parts)
