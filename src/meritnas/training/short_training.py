"""A training that is only to tell how good a network, or a recipe, may get."""

from __future__ import annotations

from typing import Any

from torch import nn

from meritnas.data.bundle import Bundle
from meritnas.errors import DivergedError
from meritnas.settings.recipe import TrainRecipe
from meritnas.training.train import train_child


def short_loss(
    module: nn.Module, data: Bundle[Any], recipe: TrainRecipe, epochs: int, seed: int
) -> float | None:
    """The smallest validation loss of a fresh network, trained in place; None where it diverged."""
    try:
        return train_child(
            module, data.train, data.valid, data.task.loss, recipe, epochs, seed
        ).valid_loss
    except DivergedError:
        return None
