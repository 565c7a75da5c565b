from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from meritnas.data.bundle import Outline
from meritnas.data.tables.source import Source
from meritnas.families.family import Family
from meritnas.prepare.setup import encode_within, make_family
from meritnas.settings.settings import SearchSettings
from meritnas.training.threads import limited_threads
from meritnas.training.train import train_child

Scaling = Literal["standard", "quantile"]

_TRIED: tuple[Scaling, ...] = ("standard", "quantile")
_LEAST_ROWS = 100
_MOST_ROWS = 20_000
_STEPS = 500
_STEPS_A_ROW = 1
_DRAWS = 31


@dataclass(frozen=True)
class ScalingChoice:
    """How numbers are scaled.

    Attributes:
        scaling: what was chosen.
        losses: scaling -> validation loss of the trial; empty where none was made.
    """

    scaling: Scaling
    losses: dict[str, float]

    @property
    def note(self) -> str:
        """What a user should know about it; empty without a trial."""
        if not self.losses:
            return ""
        (other,) = set(_TRIED) - {self.scaling}
        return (
            f"numbers get {self.scaling} scaling: validation loss {self.losses[self.scaling]:.4g} "
            f"in a short trial, {self.losses[other]:.4g} with {other} scaling"
        )


def choose_scaling(settings: SearchSettings, source: Source, outline: Outline) -> ScalingChoice:
    """The scaling that a user asked for, or what the validation rows favour.

    A feasible network of middling size is trained for some hundred steps with each scaling, on at
    most 20,000 of the training rows. Tables of under 100 training rows are too small to tell,
    and get standard scaling.
    """
    if settings.scaling != "auto":
        return ScalingChoice(settings.scaling, {})
    split, rng = outline.split, np.random.default_rng([settings.seed, 2])
    if len(split.train) < _LEAST_ROWS:
        return ScalingChoice("standard", {})

    def some(rows: np.ndarray) -> np.ndarray:
        most = min(len(rows), _MOST_ROWS)
        return rows if most == len(rows) else np.sort(rng.choice(rows, most, replace=False))

    none = split.test[:0]
    small = replace(split, train=some(split.train), valid=some(split.valid), test=none)
    losses: dict[str, float] = {}
    for scaling in _TRIED:
        bundle = encode_within(settings, source, replace(outline, split=small), scaling)
        if not bundle.encoder.scalable:
            return ScalingChoice("standard", {})
        family = make_family(settings, bundle.encoder, bundle.task)
        module = family.child(_middling(family, settings), settings.seed).to(settings.device)
        recipe = settings.recipe
        rows = len(bundle.train)
        steps = min(_STEPS, _STEPS_A_ROW * rows)
        epochs = max(1, round(steps / max(1, rows // recipe.batch_size)))
        with limited_threads(1):  # a trial small enough for one
            trained = train_child(
                module, bundle.train, bundle.valid, bundle.task.loss, recipe, epochs, settings.seed
            )
        losses[scaling] = trained.valid_loss
    return ScalingChoice(min(_TRIED, key=lambda scaling: losses[scaling]), losses)


def _middling(family: Family, settings: SearchSettings) -> str:
    """A network that keeps the limits, of median size among some random ones."""
    # Latency is measured after the columns are settled, and a middling network is all it takes.
    limits = {name: most for name, most in settings.limits.items() if name != "latency"}
    feasible = family.within(limits)
    flat = [np.zeros(size) for size in family.space.sizes]
    drawn = feasible.sample(flat, _DRAWS, settings.seed)
    return sorted(drawn, key=family.cost)[_DRAWS // 2].text
