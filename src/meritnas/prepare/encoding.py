"""The data as numbers, and the networks that fit them; ways to scale numbers are tried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meritnas.data.bundle import Bundle, Outline
from meritnas.data.kind import DataKind
from meritnas.devices.placement import placed
from meritnas.errors import DivergedError
from meritnas.families.family import Family
from meritnas.prepare.family import make_family
from meritnas.prepare.memory import check_networks
from meritnas.settings.settings import SearchSettings
from meritnas.training.threads import limited_threads
from meritnas.training.train import train_child

_MOST_ROWS = 20_000
_STEPS = 500
_STEPS_A_ROW = 1
_DRAWS = 31


@dataclass(frozen=True)
class Encoding:
    """How numbers are scaled, and why.

    Attributes:
        name: `standard` or `quantile`.
        losses: validation loss of a short training with each, None where that diverged; empty
            where none was tried.
    """

    name: str
    losses: Mapping[str, float | None]

    @property
    def note(self) -> str:
        """What a user should know, or an empty string."""
        if not self.losses:
            return ""
        others = [
            f"{'none, it diverged,' if loss is None else f'{loss:.4g}'} with {name} scaling"
            for name, loss in self.losses.items()
            if name != self.name
        ]
        return (
            f"numbers get {self.name} scaling: validation loss {self.losses[self.name]:.4g} "
            f"in a short trial, {', '.join(others)}"
        )


def encode(
    settings: SearchSettings, kind: DataKind, source: Any, outline: Outline, encoding: str
) -> tuple[Bundle[Any], Family]:
    """Encode by what the training rows say, so that networks fit the limits.

    Where embeddings of many categories would take most of what the limits allow, fewer categories
    are told apart.
    """
    batch, limits = settings.recipe.batch_size, settings.limits

    def made(most_codes: int | None) -> tuple[Bundle[Any], Family]:
        bundle = kind.encode(
            source,
            outline,
            settings.reading,
            encoding=encoding,
            batch_size=batch,
            most_codes=most_codes,
        )
        return bundle, make_family(settings, bundle.encoder, bundle.task)

    bundle, family = made(None)
    most = settings.space.most_codes(family, limits)
    if most is not None:
        bundle, family = made(most)
    return bundle.to(settings.device), family


def choose_encoding(
    settings: SearchSettings, kind: DataKind, source: Any, outline: Outline
) -> Encoding:
    """The encoding that a user asked for, or what the validation rows favour.

    A feasible network of middling size is trained for some hundred steps with each, on at most
    20,000 of the training rows. Where training diverges with one, the other is taken.

    Raises:
        DivergedError: It does with all of them.
    """
    tried = kind.encodings(settings.reading, outline)
    if len(tried) == 1:
        return Encoding(tried[0], {})
    rng = np.random.default_rng([settings.seed, 2])
    few, part = kind.few(source, outline, _MOST_ROWS, rng)
    losses: dict[str, float | None] = {}
    for encoding in tried:
        bundle, family = encode(settings, kind, few, part, encoding)
        if not bundle.encoder.scalable:
            return Encoding(tried[0], {})
        try:
            losses[encoding] = _trial_loss(settings, bundle, family)
        except DivergedError:
            losses[encoding] = None
    finite = {name: loss for name, loss in losses.items() if loss is not None}
    if not finite:
        raise DivergedError
    return Encoding(min(finite, key=lambda name: finite[name]), losses)


def _trial_loss(settings: SearchSettings, bundle: Bundle[Any], family: Family) -> float:
    """The validation loss of a short training."""
    module = placed(family.child(_middling(family, settings), settings.seed), settings.device)
    recipe, rows = settings.recipe, len(bundle.train)
    steps = min(_STEPS, _STEPS_A_ROW * rows)
    epochs = max(1, round(steps / max(1, rows // recipe.batch_size)))
    with limited_threads(1):  # a trial small enough for one
        trained = train_child(
            module, bundle.train, bundle.valid, bundle.task.loss, recipe, epochs, settings.seed
        )
    return trained.valid_loss


def _middling(family: Family, settings: SearchSettings) -> str:
    """A network that keeps the limits, of median size among some random ones."""
    # Latency is measured after the columns are settled, and a middling network is all it takes.
    limits = {name: most for name, most in settings.limits.items() if name != "latency"}
    feasible = family.within(limits)
    check_networks(family, feasible)
    flat = [np.zeros(size) for size in family.space.sizes]
    drawn = feasible.sample(flat, _DRAWS, settings.seed)
    return sorted(drawn, key=family.cost)[_DRAWS // 2].text
