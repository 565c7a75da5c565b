from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

from meritnas.errors import UsageError, whole_number


@dataclass(frozen=True)
class TrainRecipe:
    """How weights are trained, in a supernet or alone (TabNAS, table 2).

    Attributes:
        optimizer: Adam (.9, .999, eps 1e-3), or SGD with momentum .9.
        learning_rate: at the start.
        schedule: `cosine` falls to zero at the last step, `constant` stays.
        batch_size: rows a step.
    """

    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 0.002
    schedule: Literal["cosine", "constant"] = "cosine"
    batch_size: int = 128

    def __post_init__(self) -> None:
        if self.optimizer not in ("adam", "sgd"):
            raise UsageError(f"the optimizer must be adam or sgd, got '{self.optimizer}'")
        if self.schedule not in ("cosine", "constant"):
            raise UsageError(f"the schedule must be cosine or constant, got '{self.schedule}'")
        if not 0 < self.learning_rate < math.inf:
            raise UsageError(
                f"the learning rate must be above 0 and finite, got {self.learning_rate}"
            )
        object.__setattr__(self, "batch_size", whole_number("batch_size", self.batch_size, 2))

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * step / max(1, steps)))

    def to_json(self) -> dict[str, Any]:
        """Plain data for `TrainRecipe(**data)`."""
        return asdict(self)


def default_batch_size(rows: int) -> int:
    """Small batches for small tables: about 40 steps an epoch, 32 to 512 rows each."""
    size = 32
    while size < 512 and rows // (size * 2) >= 40:
        size *= 2
    return size


SEARCH_STEPS = 3000
TRAIN_STEPS = 1500
"""The fewest weight steps of a search, and of training what it found, unless asked for less."""


def default_epochs(rows: int, batch_size: int, least_steps: int) -> int:
    """60 as in most of TabNAS' table 2, or as many as it takes to `least_steps`."""
    return max(60, math.ceil(least_steps / max(1, rows // batch_size)))


def default_threads(numbers_a_batch: int) -> int:
    """One thread where batches are small: more would only wait for each other."""
    return 1 if numbers_a_batch < 200_000 else torch.get_num_threads()
