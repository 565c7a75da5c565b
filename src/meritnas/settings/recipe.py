"""How weights are trained, and how much by default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from meritnas.errors import UsageError, told
from meritnas.settings.augment import Augment
from meritnas.settings.checks import check_fields
from meritnas.settings.fields import shown

MOST_EPOCHS = 1_000_000
MOST_ROWS = 1_000_000
"""Of a step."""

ADAM_EPS = 1e-8
"""What torch's own Adam has."""

Schedule = Literal["cosine", "constant", "linear", "one-cycle"]
Precision = Literal["float32", "bf16"]

_RISING, _LOWEST = 0.25, 0.1
"""Of one cycle: the share of steps in which the rate rises, and where it begins."""


@dataclass(frozen=True)
class TrainRecipe:
    """How weights are trained, in a supernet or alone.

    Small networks on real tables do clearly better with what are the defaults here than as
    TabNAS trains them (docs/results.md). `families.presets` has what papers use.

    Attributes:
        optimizer: Adam (.9, .999), or SGD.
        learning_rate: at the start.
        schedule: `cosine` falls to `final_rate` at the last step, `linear` too, in equal steps,
            `constant` stays, `one-cycle` rises from a tenth for a quarter of the steps and then
            falls as the cosine does.
        batch_size: rows a step.
        weight_decay: how fast weights shrink, in the way that `decay` says.
        averaging: what a network trained alone keeps is a moving average of its weights with this
            decay (Polyak), which hardly costs anything and evens out the last steps; 0 for none.
        dropout: the share of hidden units left out when a network trains alone; None to train
            with none and with `TRIED_DROPOUT`, and keep what the validation rows favour. A
            supernet trains without: a path leaves out units by itself.
        momentum: of SGD; Adam has its own.
        nesterov: whether SGD's momentum looks ahead; Adam's never does.
        clip: the most that the norm of all gradients together may be; None for no such bound.
        decay: `apart`: each step shrinks the matrices (not the biases) by `weight_decay` times
            the rate (Loshchilov and Hutter, 2019). `gradient`: `weight_decay` times the weight is
            added to the gradient of every weight, biases too, before momentum, as torch's SGD does
            and papers on images have it.
        final_rate: where a falling rate ends.
        auxiliary: the weight of the loss of an auxiliary head, which a network trained alone then
            has; 0 for none.
        augment: what is done to training images.
        smoothing: when a network trains alone, the share of the loss that asks for all classes
            alike (label smoothing, Szegedy et al., 2016).
        teacher_share: where a teacher's answers are there beside the labels, the share of the loss
            that asks for them (knowledge distillation, Hinton, Vinyals and Dean, 2015).
        precision: `bf16` computes products in bfloat16 where weights are trained, and where
            networks are judged by shared weights; all else, and a trained network, is in single.
        adam_eps: what Adam adds to the root of its mean square; the larger, the smaller are the
            steps of weights with small gradients.
    """

    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 0.01
    schedule: Schedule = "cosine"
    batch_size: int = field(default=128, metadata=shown(least=2, most=MOST_ROWS))
    weight_decay: float = 0.3
    dropout: float | None = None
    averaging: float = 0.99
    momentum: float = 0.9
    nesterov: bool = False
    clip: float | None = None
    decay: Literal["apart", "gradient"] = "apart"
    final_rate: float = 0.0
    auxiliary: float = 0.0
    augment: Augment = field(default_factory=Augment)
    smoothing: float = 0.0
    precision: Precision = "float32"
    teacher_share: float = 0.6
    adam_eps: float = ADAM_EPS

    def __post_init__(self) -> None:
        if isinstance(self.augment, Mapping):  # as JSON has it
            object.__setattr__(self, "augment", _augment(self.augment))
        check_fields(self)
        self._check_numbers()
        self._check_shares()

    def _check_numbers(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise UsageError(
                f"the learning rate must be above 0 and finite, got {self.learning_rate}"
            )
        if not 0 <= self.weight_decay * self.learning_rate < 1:
            raise UsageError(
                "weight_decay must be at least 0, and below 1 when multiplied by the learning "
                f"rate, got {self.weight_decay} with a rate of {self.learning_rate}"
            )
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise UsageError(f"dropout must be from 0 to below 1, got {self.dropout}")
        if not 0 <= self.momentum < 1:
            raise UsageError(f"momentum must be from 0 to below 1, got {self.momentum}")
        if not 0 <= self.averaging < 1:
            raise UsageError(f"averaging must be from 0 to below 1, got {self.averaging}")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise UsageError(
                f"clip must be above 0 and finite, or None for no bound, got {self.clip}"
            )
        if not 0 <= self.final_rate <= self.learning_rate:
            raise UsageError(
                f"final_rate must be from 0 to the learning rate of {self.learning_rate}, "
                f"got {self.final_rate}"
            )
        if not 0 <= self.auxiliary < math.inf:
            raise UsageError(f"auxiliary must be at least 0 and finite, got {self.auxiliary}")
        if not 0 < self.adam_eps < math.inf:
            raise UsageError(f"adam_eps must be above 0 and finite, got {self.adam_eps}")

    def _check_shares(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise UsageError(f"smoothing must be from 0 to below 1, got {self.smoothing}")
        if not 0 < self.teacher_share <= 1:
            raise UsageError(
                f"teacher_share must be above 0 and at most 1, got {self.teacher_share}"
            )

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        rising = int(_RISING * steps) if self.schedule == "one-cycle" else 0
        if step < rising:
            return self.learning_rate * (_LOWEST + (1.0 - _LOWEST) * step / rising)
        falling = self.learning_rate - self.final_rate
        if self.schedule == "linear":
            return self.learning_rate - falling * step / max(1, steps)
        turned = 1.0 + math.cos(math.pi * (step - rising) / max(1, steps - rising))
        return self.final_rate + falling * 0.5 * turned

    @property
    def dropouts(self) -> tuple[float, ...]:
        """What dropouts are tried."""
        return (0.0, TRIED_DROPOUT) if self.dropout is None else (self.dropout,)

    def averaging_at(self, step: int) -> float:
        """How much of the average is kept in a step, counted from 0; early averages are short."""
        return min(self.averaging, (1 + step) / (10 + step)) if self.averaging else 0.0

    def decay_at(self, rate: float) -> float:
        """What the matrices are multiplied by in a step with this rate, apart from the gradient."""
        return 1.0 - rate * self.weight_decay if self.decay == "apart" else 1.0

    @property
    def gradient_decay(self) -> float:
        """What share of every weight is added to its gradient."""
        return self.weight_decay if self.decay == "gradient" else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data for `TrainRecipe(**data)`."""
        return asdict(self)


def _augment(given: Mapping[str, Any]) -> Augment:
    try:
        return Augment(**given)
    except TypeError as error:
        raise UsageError(f"augment must be an Augment, got {told(given)}") from error


def default_batch_size(rows: int) -> int:
    """Small batches for small tables: about 40 steps an epoch, 32 to 512 rows each."""
    size = 32
    while size < 512 and rows // (size * 2) >= 40:
        size *= 2
    return size


TRIED_DROPOUT = 0.1
"""What is tried beside no dropout, unless a share is given."""

SEARCH_STEPS = 3000
TRAIN_STEPS = 1500
"""The fewest weight steps of a search, and of training what it found, unless asked for less."""

_FEWEST_STEPS = 100
_SEARCH_STEPS_A_ROW = 4
_TRAIN_STEPS_A_ROW = 2
"""Small tables get fewer steps: so many for each row, and not less than so many in all."""


def default_search_epochs(rows: int, batch_size: int) -> int:
    """60 as in most of TabNAS' table 2, or as many as it takes to `SEARCH_STEPS`."""
    return _epochs(60, SEARCH_STEPS, _SEARCH_STEPS_A_ROW, rows, batch_size)


def default_train_epochs(rows: int, batch_size: int) -> int:
    """40, or as many as it takes to `TRAIN_STEPS`."""
    return _epochs(40, TRAIN_STEPS, _TRAIN_STEPS_A_ROW, rows, batch_size)


def _epochs(usual: int, least_steps: int, steps_a_row: int, rows: int, batch_size: int) -> int:
    # A table of some dozen rows has nothing to say that takes thousands of steps to learn.
    steps = min(least_steps, max(_FEWEST_STEPS, steps_a_row * rows))
    return max(usual, math.ceil(steps / max(1, rows // batch_size)))


def default_threads(numbers_a_batch: int) -> int | None:
    """One thread where batches are small, more would only wait; None for torch's own number."""
    return 1 if numbers_a_batch < 200_000 else None
