"""How networks for images are trained by default: what papers publish, and a quick way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from meritnas.errors import UsageError, whole_number
from meritnas.families.presets.recipe import Recipe
from meritnas.settings.augment import Augment
from meritnas.settings.preset import Facts
from meritnas.settings.recipe import TrainRecipe


@dataclass(frozen=True)
class ImageRecipe(Recipe):
    """All that a search on images and the training of what it found take.

    The `dropout` of `retrain` is the final rate of drop-path.

    Attributes:
        supernet_channels: of the supernet's first cells.
        supernet_cells: of the supernet; in each of three stages for `nasbench201`.
        channels: of the found network's first cells.
        cells: of the found network; in each of three stages for `nasbench201`.
        partial: K of PC-DARTS: operations of the supernet see 1/K of the channels.
    """

    supernet_channels: int
    supernet_cells: int
    channels: int
    cells: int
    partial: int = 1

    @property
    def drop_path(self) -> float:
        """The final rate of drop-path of the found network."""
        return self.retrain.dropout or 0.0


_CIFAR = Augment(crop=4, flip=True)

_SGD = TrainRecipe(
    "sgd",
    learning_rate=0.1,
    batch_size=64,
    weight_decay=5e-4,
    dropout=0.0,
    averaging=0.0,
    nesterov=True,
    decay="gradient",
    augment=_CIFAR,
)
"""What most recipes for CIFAR-10 share."""

DARTS_SEARCH = replace(
    _SGD, learning_rate=0.025, final_rate=0.001, weight_decay=3e-4, nesterov=False, clip=5.0
)
DARTS_RETRAIN = replace(
    DARTS_SEARCH,
    final_rate=0.0,
    batch_size=96,
    dropout=0.2,
    auxiliary=0.4,
    augment=replace(_CIFAR, cutout=16),
)
DARTS = ImageRecipe(
    search=DARTS_SEARCH,
    search_epochs=50,
    warmup_share=0.0,
    supernet_channels=16,
    supernet_cells=8,
    retrain=DARTS_RETRAIN,
    retrain_epochs=600,
    channels=36,
    cells=20,
)
"""DARTS on CIFAR-10 (Liu et al., 2019)."""

PC_DARTS = replace(
    DARTS,
    search=replace(DARTS_SEARCH, learning_rate=0.1, final_rate=0.0, batch_size=256),
    warmup_share=0.3,
    partial=4,
)
"""PC-DARTS on CIFAR-10 (Xu et al., 2020): the first 15 of 50 epochs train weights."""

_LARGE = Augment(flip=True)

IMAGENET = ImageRecipe(
    search=replace(
        DARTS_SEARCH, learning_rate=0.5, final_rate=0.0, batch_size=1024, augment=_LARGE
    ),
    search_epochs=50,
    warmup_share=0.5,
    supernet_channels=16,
    supernet_cells=8,
    retrain=replace(
        DARTS_SEARCH,
        learning_rate=0.5,
        final_rate=0.0,
        schedule="linear",
        batch_size=1024,
        weight_decay=3e-5,
        auxiliary=0.4,
        smoothing=0.1,
        augment=_LARGE,
    ),
    retrain_epochs=250,
    channels=48,
    cells=14,
)
"""Shapley-NAS on ImageNet (Xiao et al., 2022). Deviations: the rate does not rise in the first five
epochs, and images are mirrored only, where the paper cuts pieces of all sizes and changes colours.
"""

NASBENCH201 = ImageRecipe(
    search=replace(_SGD, clip=1.0),
    search_epochs=100,
    warmup_share=0.5,
    supernet_channels=16,
    supernet_cells=5,
    retrain=replace(_SGD, batch_size=256),
    retrain_epochs=200,
    channels=16,
    cells=5,
)
"""The search of AdvantageNAS (Sato et al., 2021) and the training of NAS-Bench-201's own networks
(Dong and Yang, 2020)."""

_QUICK_STEPS = 1000
_QUICK_EPOCHS = (5, 60)
"""About so many steps for search and for retraining, within so few and so many epochs."""

_BATCHES = ((64, 2000), (32, 500))
_SMALLEST_BATCH = 16
"""The batch, and how many images are enough for it; the smallest where there are fewer."""

_FEW, _MOST_FOR_FEW = 1000, 200
"""Fewer images than this are changed more, a square of each blotted out, and seen more often."""

ImageSpace = Literal["darts", "nasbench201", "convnet"]
QUICK = "quick"
"""What is taken unless told otherwise."""


def image_recipe(
    preset: Literal["quick", "paper"],
    space: ImageSpace,
    *,
    images: int,
    colour: bool = True,
    side: int = 32,
    partial: int = 1,
    stem: Literal["cifar", "imagenet"] = "cifar",
) -> ImageRecipe:
    """How to search and train on images.

    Args:
        preset: `paper`: sizes and lengths as published for CIFAR-10, or for ImageNet where `stem`
            is for it, which take days on a CPU.
            `quick`: small networks and about a thousand steps each, ours and no paper's.
        space: the kind of network.
        images: how many there are to train on; `quick` makes more passes over fewer.
        colour: whether images have colours. Grey ones are not mirrored, for most of what is grey
            has a left and a right (digits, letters, scans), and `quick` crops them less.
        side: the shorter side of images in pixels; `quick` crops in proportion to it.
        partial: K of PC-DARTS; above 1 the paper's search of `darts` is that of PC-DARTS.
        stem: of networks of DARTS' cells.

    Raises:
        UsageError: there is no such preset or space, or a number is too small.
    """
    if preset not in ("quick", "paper"):
        raise UsageError(f"the preset must be quick or paper, got '{preset}'")
    if space not in ("darts", "nasbench201", "convnet"):
        raise UsageError(f"presets are for darts, nasbench201 and convnet, got '{space}'")
    if preset == "paper" and space == "convnet":
        raise UsageError("no paper has the space convnet; take the preset quick, or another space")
    images, side = whole_number("images", images, 1), whole_number("side", side, 1)
    partial = whole_number("partial", partial, 1)
    if preset == "quick":
        augment = Augment(round(side / (8 if colour else 16)), flip=colour)
        found = _quick(space, images, augment)
        if space == "convnet":
            found = replace(found, **_for_convnets(images, side, found.retrain))
    elif space == "darts" and stem == "imagenet":
        found = IMAGENET
    elif space == "darts":
        found = PC_DARTS if partial > 1 else DARTS
    else:
        found = NASBENCH201
    found = replace(found, partial=partial)
    return found if colour else _unmirrored(found)


def _quick(space: ImageSpace, images: int, augment: Augment) -> ImageRecipe:
    recipe = replace(_SGD, clip=5.0, augment=augment)
    epochs = math.ceil(_QUICK_STEPS / max(1, images // recipe.batch_size))
    least, most = _QUICK_EPOCHS
    epochs = min(most, max(least, epochs))
    darts = space == "darts"
    return ImageRecipe(
        search=recipe,
        search_epochs=epochs,
        warmup_share=0.5,
        supernet_channels=8 if darts else 16,
        supernet_cells=3 if darts else 1,
        retrain=recipe,
        retrain_epochs=epochs,
        # Separable convolutions are slow on a CPU for what they compute; NAS-Bench-201's networks
        # are the benchmark's own.
        channels=8 if darts else 16,
        cells=5,
    )


def _for_convnets(images: int, side: int, recipe: TrainRecipe) -> dict[str, Any]:
    """How a network in stages is trained alone: `retrain` and `retrain_epochs`.

    Validation accuracy of the plain network with 140,458 parameters on `mnist5k` after 15 epochs,
    two seeds: .985 and .984 with a rate that falls along a cosine, .988 and .985 in one cycle, the
    same with averaged weights and a smaller loss. Of four seeds, two of them after 20 epochs,
    smoothed labels (.05) were better in two and worse in two, and the loss was always larger: they
    are left out. Batches of 32 instead of 64 and shifts of three pixels instead of two did not
    matter, half the rate did harm. On 7,500 images of CIFAR-10, after 30 epochs, one cycle with
    averages and a cosine without had the same accuracy.
    """
    batch = next((size for size, enough in _BATCHES if images >= enough), _SMALLEST_BATCH)
    small = images < _FEW
    steps = max(1, images // batch)
    retrain = replace(
        recipe,
        schedule="one-cycle",
        averaging=0.99,
        batch_size=batch,
        learning_rate=recipe.learning_rate * batch / recipe.batch_size,
        augment=replace(recipe.augment, cutout=side // 4 if small else 0),
    )
    least, _ = _QUICK_EPOCHS
    epochs = min(_MOST_FOR_FEW, max(least, math.ceil(_QUICK_STEPS / steps)))
    return {"retrain": retrain, "retrain_epochs": epochs}


def _unmirrored(preset: ImageRecipe) -> ImageRecipe:
    search, retrain = (
        replace(recipe, augment=replace(recipe.augment, flip=False))
        for recipe in (preset.search, preset.retrain)
    )
    return replace(preset, search=search, retrain=retrain)


def images_recipe(
    name: str | None,
    space: ImageSpace,
    facts: Facts,
    partial: int,
    stem: Literal["cifar", "imagenet"] = "cifar",
) -> ImageRecipe:
    """The recipe of this name for the images there are; None for the quick one."""
    channels, *sides = facts.shape
    return image_recipe(
        name or QUICK,  # type: ignore[arg-type]  # it complains about another name
        space,
        images=facts.rows,
        colour=channels == 3,
        side=min(sides),
        partial=partial,
        stem=stem,
    )
