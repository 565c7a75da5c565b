"""What the defaults of a search follow from, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.spec import SpaceSpec


@dataclass(frozen=True)
class Facts:
    """What defaults may know about data.

    Attributes:
        kind: of data, as `DataKind.name` has it.
        rows: to train on: rows of a table, images, words of a text, samples.
        shape: of one of them: (columns,) of a table, (channels, height, width) of images.
        parts: how many modalities there are; 1 elsewhere.
        window: words as far as gradients go back, in a text.
        batch_size: rows a step, where a user has decided that; of tables, epochs follow from it.
    """

    kind: str
    rows: int
    shape: tuple[int, ...] = ()
    parts: int = 1
    window: int = 1
    batch_size: int | None = None


@dataclass(frozen=True)
class Preset:
    """All that a search and the training of what it found take, before anybody changes a part.

    Attributes:
        space: with all its sizes.
        search: how the supernet is trained.
        search_epochs: passes of the supernet over its training part.
        warmup: the share of the search in which only weights learn.
        retrain: how a network is trained alone; None for as in the supernet.
        retrain_epochs: passes of such a network.
        retrain_seeds: how often the winner is trained from scratch.
        finalists: how many of the search's favourites are trained from scratch.
        threads: CPU threads; None for torch's own number.
    """

    space: SpaceSpec
    search: TrainRecipe
    search_epochs: int
    warmup: float
    retrain: TrainRecipe | None
    retrain_epochs: int
    retrain_seeds: int
    finalists: int
    threads: int | None
