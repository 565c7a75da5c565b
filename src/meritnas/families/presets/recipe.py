"""What recipes for all kinds of data share: how a search and what it found are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace

from meritnas.settings.preset import Preset
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.spec import SpaceSpec


@dataclass(frozen=True)
class Recipe:
    """How a supernet is trained, and how the network that was found.

    Attributes:
        search: how the supernet is trained.
        search_epochs: passes of the supernet over its training part.
        warmup_share: the share of these in which only weights learn.
        retrain: how the found network is trained.
        retrain_epochs: passes of the found network.
    """

    search: TrainRecipe
    search_epochs: int
    warmup_share: float
    retrain: TrainRecipe
    retrain_epochs: int

    def preset(
        self, space: SpaceSpec, finalists: int, threads: int | None, auxiliary: float = 0.0
    ) -> Preset:
        """All that a search takes by this recipe.

        Args:
            space: with all its sizes.
            finalists: how many of its favourites are trained from scratch.
            threads: CPU threads; None for torch's own number.
            auxiliary: the weight of the loss of an auxiliary head.
        """
        return Preset(
            space=space,
            search=replace(self.search, auxiliary=0.0, dropout=0.0),
            search_epochs=self.search_epochs,
            warmup=self.warmup_share,
            retrain=replace(self.retrain, auxiliary=auxiliary),
            retrain_epochs=self.retrain_epochs,
            retrain_seeds=1,
            finalists=finalists,
            threads=threads,
        )
