"""How long an epoch of a network takes, as a task: on whoever will train it, while others work."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from meritnas.data.rows import seconds_a_row
from meritnas.devices.placement import placed
from meritnas.errors import DivergedError
from meritnas.settings.recipe import TrainRecipe
from meritnas.tasks.task import Tell
from meritnas.training.one_training import Ground, recipe_for
from meritnas.training.threads import limited_threads
from meritnas.training.train import train_child

_TIMED_EPOCHS = 3
"""How many epochs are trained to find out how long one takes."""

_LEAST_SHARE = 1 / 16
"""Of the data, to begin with."""


@dataclass(frozen=True)
class EpochTime:
    """A network of which an epoch is to be timed, on as much of the data as takes little time.

    Attributes:
        architecture: its text.
        dropout: its share.
        recipe: how it is trained.
        allowed: seconds; a measurement that takes longer is the last.
        threads: of the CPU.
    """

    architecture: str
    dropout: float
    recipe: TrainRecipe
    allowed: float
    threads: int

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return f"timing an epoch of {self.architecture}"

    def __call__(self, material: Ground, tell: Tell) -> float:
        """Seconds of an epoch."""
        del tell
        rows, share = len(material.bundle.train), _LEAST_SHARE
        with limited_threads(self.threads):
            while True:
                share = min(1.0, max(share, 2 * self.recipe.batch_size / rows))
                took = self.seconds_for(material, 1, share)
                if share == 1.0 or took > self.allowed:
                    break
                share *= 4
            if share < 1.0 or _TIMED_EPOCHS * took > self.allowed:
                # Of rows that are streamed a small share is in memory.
                return took / share + rows * seconds_a_row(material.bundle.train)
            return self.seconds_for(material, _TIMED_EPOCHS, 1.0) / _TIMED_EPOCHS  # warm caches

    def seconds_for(self, material: Ground, epochs: int, share: float) -> float:
        """How long a training on this share of the data takes."""
        family, bundle = material
        recipe = recipe_for(family, self.architecture, self.recipe)
        train, valid = bundle.train.share(share), bundle.valid.share(share)
        begun = time.perf_counter()
        module = family.child(
            self.architecture, dropout=self.dropout, auxiliary=recipe.auxiliary > 0
        )
        module = placed(module, bundle.valid.inputs.device)
        with suppress(DivergedError):  # the race finds out whether all do
            train_child(module, train, valid, bundle.task.loss, recipe, epochs, 0)
        return time.perf_counter() - begun
