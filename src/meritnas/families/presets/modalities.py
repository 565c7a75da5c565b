"""How networks for several modalities are trained by default: as SM-ShapNAS has it, or quickly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from meritnas.errors import UsageError
from meritnas.families.presets.recipe import Recipe
from meritnas.settings.recipe import TrainRecipe, default_batch_size


@dataclass(frozen=True)
class FusionRecipe(Recipe):
    """All that a search on several modalities and the training of what it found take.

    Attributes:
        channels: of every joined state.
        length: positions of every joined state; None where they follow from data and limits.
        sparsity: lambda_1 of sparse operations.
        fista_steps: how often these improve a code.
        heads: whether modalities may answer by themselves; None where memory is not limited.
    """

    channels: int
    length: int | None
    sparsity: float
    fista_steps: int
    heads: bool | None


_ADAM = TrainRecipe(
    learning_rate=0.001,
    final_rate=1e-6,
    batch_size=32,
    weight_decay=1e-4,
    decay="gradient",
    dropout=0.2,
    averaging=0.0,
)
PAPER = FusionRecipe(
    search=replace(_ADAM, dropout=0.0),
    search_epochs=15,
    warmup_share=0.0,
    retrain=_ADAM,
    retrain_epochs=30,
    channels=192,
    length=16,
    sparsity=0.1,
    fista_steps=2,
    heads=False,
)
"""SM-ShapNAS on MM-IMDB (appendix B). Deviation: supernets train without dropout."""

_PAPER_CELLS = 2
_QUICK_CELLS = (2, 5)
"""So many at least, and at most."""

_QUICK = replace(_ADAM, learning_rate=0.003, averaging=0.98)
_QUICK_STEPS = (600, 1000)
_STEPS_A_ROW = 6
_LEAST_STEPS = 60
"""Few samples get fewer steps: so many for each, and not less than so many in all."""

_SEARCH_EPOCHS = (9, 200)
_RETRAIN_EPOCHS = (12, 300)


def fusion_recipe(name: str, rows: int) -> FusionRecipe:
    """The preset of this name.

    Args:
        name: `quick` (minutes) or `paper`.
        rows: how many samples there are to train on.
    """
    if name == "paper":
        return PAPER
    if name != "quick":
        raise UsageError(f"the preset must be quick or paper, got '{name}'")
    batch = min(default_batch_size(rows), 256)
    steps = max(1, rows // batch)
    most = max(_LEAST_STEPS, _STEPS_A_ROW * rows)
    searched, trained = (math.ceil(min(n, most) / steps) for n in _QUICK_STEPS)
    return FusionRecipe(
        search=replace(_QUICK, batch_size=batch, dropout=0.0),
        search_epochs=min(max(searched, _SEARCH_EPOCHS[0]), _SEARCH_EPOCHS[1]),
        warmup_share=0.2,
        retrain=replace(_QUICK, batch_size=batch),
        retrain_epochs=min(max(trained, _RETRAIN_EPOCHS[0]), _RETRAIN_EPOCHS[1]),
        channels=32,
        length=None,
        sparsity=1.0,
        fista_steps=5,
        heads=None,
    )


def fusion_cells(name: str, modalities: int) -> int:
    """How many cells networks have by this preset.

    `quick` takes one less than there are modalities: where each cell reads something new, all of
    them are read.
    """
    least, most = _QUICK_CELLS
    return _PAPER_CELLS if name == "paper" else min(max(modalities - 1, least), most)
