from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from meritnas.errors import StoreError, UsageError, whole_number
from meritnas.families.tabular import PAPER_WIDTHS
from meritnas.search.recipe import TrainRecipe

SCALINGS = ("auto", "standard", "quantile")


@dataclass(frozen=True)
class SearchSettings:
    """Everything a user decides about a run; plain values, kept in the run's config.json.

    Attributes:
        space: the kind of network.
        strategy: how it is searched.
        strategy_options: by the strategy's own names.
        limits: cost name -> the most that the found network may cost.
        layers: number of hidden layers.
        widths: the widths to choose from, for each layer.
        embedding: the width of every category's embedding, or None for the rule.
        widest_embedding: the most that the rule may give; None for what the limits leave room for.
        epochs: passes of the supernet over the training part, or None for `minutes`.
        minutes: wall-clock time for search and retraining together.
        recipe: how weights are trained, in the supernet and after.
        finalists: how many of the search's favourites are trained from scratch to find the best.
        retrain_epochs: passes of the found network over the training part.
        retrain_seeds: how often the found network is trained from scratch.
        seed: where all randomness comes from.
        device: where tensors live.
        threads: CPU threads; part of what makes a run repeatable.
        task: "classification", "regression", or None to find out.
        scaling: of numbers: "standard", "quantile", or "auto" for what validation rows favour.
        class_weight: "balanced" for classes that count alike, or None.
        pareto: whether networks for a ladder of smaller limits are found as well.
    """

    space: str = "tabular"
    strategy: str = "tabnas"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    layers: int = 3
    widths: tuple[tuple[int, ...], ...] = (PAPER_WIDTHS,) * 3
    embedding: int | None = None
    widest_embedding: int | None = None
    epochs: int | None = 60
    minutes: float | None = None
    recipe: TrainRecipe = field(default_factory=TrainRecipe)
    retrain_epochs: int | None = 60
    retrain_seeds: int = 3
    finalists: int = 3
    seed: int = 0
    device: str = "cpu"
    threads: int = 1
    task: str | None = None
    scaling: Literal["auto", "standard", "quantile"] = "auto"
    class_weight: str | None = None
    pareto: bool = False

    def __post_init__(self) -> None:
        counts = ("epochs", "retrain_epochs", "retrain_seeds", "finalists", "threads", "seed")
        for name in (*counts, "layers", "embedding"):
            value = getattr(self, name)
            if value is not None:
                least = 0 if name == "seed" else 1
                object.__setattr__(self, name, whole_number(name, value, least))
        if self.scaling not in SCALINGS:
            raise UsageError(
                f"the scaling must be {', '.join(SCALINGS[:-1])} or {SCALINGS[-1]}, "
                f"got '{self.scaling}'"
            )
        limits = {name: whole_number(f"max_{name}", most) for name, most in self.limits.items()}
        object.__setattr__(self, "limits", limits)
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise UsageError(f"minutes must be above 0 and finite, got {self.minutes}")
        if (self.epochs is None) == (self.minutes is None):
            raise UsageError("give either epochs or minutes, not both")
        if self.seed >= 2**32:
            raise UsageError(f"seed must be below 2**32, got {self.seed}")

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back into equal settings."""
        return {**asdict(self), "widths": [list(row) for row in self.widths]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SearchSettings:
        """The inverse of `to_json`."""
        try:
            values = dict(data)
            values["recipe"] = TrainRecipe(**values["recipe"])
            values["widths"] = tuple(tuple(row) for row in values["widths"])
            return SearchSettings(**values)
        except (KeyError, TypeError) as error:
            raise StoreError(
                f"the run's settings are damaged ({error}); restore config.json or start a new run"
            ) from error
