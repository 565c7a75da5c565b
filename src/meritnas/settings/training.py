"""How networks are trained, as far as a user wants it otherwise than by default."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from meritnas.errors import UsageError, told
from meritnas.settings.checks import check_fields
from meritnas.settings.fields import shown
from meritnas.settings.recipe import (
    ADAM_EPS,
    MOST_EPOCHS,
    MOST_ROWS,
    Precision,
    Schedule,
    TrainRecipe,
)

_BY_PRESET = "; others: by preset"

MOST_TRAININGS = 1000
"""Of seeds, of finalists, of candidates, and of those that are tried."""

Teacher = Literal["trees", "finalists"]

TEACHERS: tuple[Teacher, ...] = ("trees", "finalists")
"""By name; any other is given."""

CANDIDATES = 32
"""How many are judged where nobody says otherwise."""

_LENIENT = TrainRecipe(learning_rate=1e-9, weight_decay=0.0)
"""Whatever rate or decay is changed in it alone goes with the other."""


@dataclass(frozen=True)
class Training:
    """How weights are trained, in the supernet and alone; None for what suits the data.

    Attributes:
        batch_size: Rows or images a step.
        learning_rate: Of the weights.
        optimizer: Of the weights.
        schedule: Of the learning rate.
        weight_decay: How fast weights shrink.
        clip: Most that the norm of all gradients together may be.
        warmup: Part of the search that trains weights only.
        precision: In which products are computed while weights are trained.
        adam_eps: What Adam adds to the root of its mean square.
    """

    batch_size: int | None = field(
        default=None,
        metadata=shown(usual="by number of rows" + _BY_PRESET, least=2, most=MOST_ROWS),
    )
    learning_rate: float | None = field(default=None, metadata=shown(usual="0.01" + _BY_PRESET))
    optimizer: Literal["adam", "sgd"] | None = field(
        default=None, metadata=shown(usual="adam" + _BY_PRESET)
    )
    schedule: Schedule | None = field(default=None, metadata=shown(usual="cosine" + _BY_PRESET))
    weight_decay: float | None = field(default=None, metadata=shown(usual="0.3" + _BY_PRESET))
    clip: float | None = field(default=None, metadata=shown(usual="no bound" + _BY_PRESET))
    warmup: float | None = field(default=None, metadata=shown(usual="0.25" + _BY_PRESET))
    precision: Precision | None = field(default=None, metadata=shown(usual="float32"))
    adam_eps: float | None = field(
        default=None, metadata=shown(usual=f"{ADAM_EPS:g}; tables by the preset paper: 0.001")
    )

    def __post_init__(self) -> None:
        check_fields(self)
        self.changed(_LENIENT)  # which complains about what is no recipe
        if self.warmup is not None and not 0 <= self.warmup < 1:
            raise UsageError(f"warmup must be from 0 to below 1, got {self.warmup}")

    def changed(self, recipe: TrainRecipe) -> TrainRecipe:
        """A recipe with what is wanted otherwise."""
        found = replace(recipe, **_given(self, "warmup"))
        if self.adam_eps is not None and found.optimizer != "adam":
            raise UsageError(
                f"adam_eps={self.adam_eps:g} is for the optimizer adam, and weights are trained "
                f"with {found.optimizer}; leave it out, or set the optimizer to adam"
            )
        return found


@dataclass(frozen=True)
class Retraining:
    """How networks are trained alone, after the search; None for what suits the data.

    Attributes:
        epochs: Passes of a network trained alone.
        seeds: How often the winner is trained from scratch, for the spread of its score.
        candidates: How many favourites are judged first; 1 leaves the choice to the strategy.
        trials: How many of these have a short training, which helps to choose; 0 for none.
        finalists: How many of the search's favourites are trained alone.
        plain: Whether plain networks, as large as the limits allow, take part in the race.
        dropout: Share of units (or edges) left out, when trained alone.
        averaging: Decay of the average of weights that is kept, when trained alone; 0 for none.
        smoothing: Share of the loss that asks for all classes alike, when trained alone.
        teacher: Whose answers to training rows of a table networks learn from, when trained alone:
            trees (boosted, each row answered by trees that have not seen it), finalists (the mean
            of those that were trained, for the winner once more), or in Python a fitted estimator.
        teacher_share: Share of the loss that asks for the teacher's answers.
    """

    epochs: int | None = field(
        default=None,
        metadata=shown(
            flag="retrain-epochs",
            usual="40, more on small tables" + _BY_PRESET,
            least=1,
            most=MOST_EPOCHS,
        ),
    )
    seeds: int | None = field(
        default=None,
        metadata=shown(flag="retrain-seeds", usual="3; others: 1", least=1, most=MOST_TRAININGS),
    )
    candidates: int | None = field(
        default=None, metadata=shown(usual=str(CANDIDATES), least=1, most=MOST_TRAININGS)
    )
    trials: int | None = field(
        default=None, metadata=shown(usual="0", least=0, most=MOST_TRAININGS)
    )
    finalists: int | None = field(
        default=None, metadata=shown(usual="3; images, texts: 2", least=1, most=MOST_TRAININGS)
    )
    plain: bool | None = field(default=None, metadata=shown(usual="on; compare: off"))
    dropout: float | None = field(
        default=None, metadata=shown(usual="0 and 0.1 are tried" + _BY_PRESET)
    )
    averaging: float | None = field(default=None, metadata=shown(usual="0.99" + _BY_PRESET))
    smoothing: float | None = field(default=None, metadata=shown(usual="0" + _BY_PRESET))
    teacher: str | Any | None = field(default=None, metadata=shown(usual="none", metavar="NAME"))
    teacher_share: float | None = field(default=None, metadata=shown(usual="0.6"))

    def __post_init__(self) -> None:
        check_fields(self)
        self.changed(_LENIENT)
        self._check_teacher()
        if self.candidates is not None and (self.trials or 0) > self.candidates:
            raise UsageError(
                f"trials must be at most candidates, {self.candidates}, got {self.trials}; "
                "give more candidates or leave them out"
            )

    def _check_teacher(self) -> None:
        given = self.teacher
        if isinstance(given, str) and given not in TEACHERS:
            raise UsageError(
                f"teacher must be {' or '.join(TEACHERS)}, or in Python a fitted scikit-learn "
                f"estimator, got {told(given)}"
            )
        if given is not None and not isinstance(given, str) and not hasattr(given, "predict"):
            raise UsageError(
                f"a teacher has a method predict, as a fitted scikit-learn estimator has, and "
                f"{told(given)} has none"
            )
        if given is None and self.teacher_share is not None:
            raise UsageError(
                f"teacher_share={self.teacher_share:g} needs a teacher: "
                f"{' or '.join(TEACHERS)}, or leave it out"
            )

    def changed(self, recipe: TrainRecipe) -> TrainRecipe:
        """A recipe with what is wanted otherwise."""
        beside = ("epochs", "seeds", "candidates", "trials", "finalists", "plain", "teacher")
        return replace(recipe, **_given(self, *beside))


def _given(settings: Training | Retraining, *others: str) -> dict[str, Any]:
    """What of a recipe was given."""
    return {
        each.name: getattr(settings, each.name)
        for each in fields(settings)
        if getattr(settings, each.name) is not None and each.name not in others
    }
