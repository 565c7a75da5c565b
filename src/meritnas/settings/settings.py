"""All that decides a run, with nothing left open; kept in its config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from meritnas.errors import UsageError, whole_number
from meritnas.settings.checks import check_fields
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.request import check_minutes
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.settings.training import CANDIDATES

WARMUP_SHARE = 0.25
"""TabNAS section 3.1: the first quarter of the weight steps is warm-up."""


@dataclass(frozen=True)
class SearchSettings:
    """All that decides a run, but for its data.

    Attributes:
        space: the networks, with all their sizes.
        strategy: how they are searched.
        reading: how the data is read, by the class that its kind has for that.
        limits: cost name -> the most that the found network may cost.
        preset: where the values that nobody gave come from; None where there are no presets.
        epochs: passes of the supernet over the training part, or None for `minutes`.
        minutes: wall-clock time for search and retraining together.
        recipe: how weights are trained, in the supernet and after.
        child_recipe: how a network trained alone is trained, where that differs.
        warmup: the part of the search in which only weights are trained.
        retrain_epochs: passes of the found network over the training part.
        retrain_seeds: how often the found network is trained from scratch.
        candidates: how many networks are judged at the end of the search; 1 for the strategy's own
            choice, unjudged.
        trials: how many of them have a short training that helps to choose.
        finalists: how many of the search's favourites are trained from scratch to find the best.
        plain: whether plain networks take part in the race.
        seed: where all randomness comes from.
        device: where tensors live.
        threads: CPU threads; part of what makes a run repeatable.
        pareto: whether networks for a ladder of smaller limits are found as well.
        latency_table: a file with times of parts of networks; None to time them here.
        teacher: whose answers networks learn from that are trained alone: `trees`, `finalists`, or
            `given`, an estimator of the user's of which the run keeps the answers only.
        workers: how many paths and batches a weight step has; part of what decides the result,
            unlike the number of processes that compute them.
    """

    space: SpaceSpec
    strategy: StrategySpec
    reading: Any
    limits: Mapping[str, int] = field(default_factory=dict)
    preset: str | None = None
    epochs: int | None = 60
    minutes: float | None = None
    recipe: TrainRecipe = field(default_factory=TrainRecipe)
    child_recipe: TrainRecipe | None = None
    warmup: float = WARMUP_SHARE
    retrain_epochs: int | None = 60
    retrain_seeds: int = 3
    candidates: int = CANDIDATES
    trials: int = 0
    finalists: int = 3
    plain: bool = False
    seed: int = 0
    device: str = "cpu"
    threads: int = 1
    pareto: bool = False
    workers: int = 1
    latency_table: str | None = None
    teacher: Literal["trees", "finalists", "given"] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in (*_COUNTS, *_FROM_ZERO):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 0 if name in _FROM_ZERO else 1)
        limits = {name: whole_number(f"max_{name}", most) for name, most in self.limits.items()}
        object.__setattr__(self, "limits", limits)
        check_minutes(self.minutes)
        if (self.epochs is None) == (self.minutes is None):
            raise UsageError("give either epochs or minutes, not both")
        if not 0 <= self.warmup < 1:
            raise UsageError(f"warmup must be from 0 to below 1, got {self.warmup}")

    @property
    def alone(self) -> TrainRecipe:
        """How a network is trained alone."""
        return self.child_recipe or self.recipe

    @property
    def own_names(self) -> frozenset[str]:
        """What of a user's own these settings have imported, as `module:name`."""
        found: frozenset[str] = self.space.own_names | self.strategy.own_names
        return found | self.reading.own_names

    @property
    def own_code(self) -> frozenset[Any]:
        """The same; of what has no name to import it by, the thing itself."""
        found: frozenset[Any] = self.space.own_code | self.strategy.own_code
        return found | self.reading.own_names

    def to_json(self) -> dict[str, Any]:
        """Plain data that `prepare.config` turns back into equal settings."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        for name in ("latency_table", "teacher"):
            if getattr(self, name) is not None:
                plain[name] = getattr(self, name)
        return {
            "space": self.space.to_json(),
            "strategy": self.strategy.to_json(),
            "reading": self.reading.to_json(),
            "limits": dict(self.limits),
            "recipe": asdict(self.recipe),
            "child_recipe": None if self.child_recipe is None else asdict(self.child_recipe),
            **plain,
        }


_COUNTS = (
    *("epochs", "retrain_epochs", "retrain_seeds", "candidates", "finalists", "threads"),
    "workers",
)
_FROM_ZERO = ("seed", "trials")
_PLAIN = (*_COUNTS, *_FROM_ZERO, "preset", "minutes", "warmup", "device", "pareto", "plain")
