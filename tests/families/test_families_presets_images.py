from __future__ import annotations

from typing import Any

import pytest

from meritnas.errors import UsageError
from meritnas.families.presets.images import ImageRecipe, ImageSpace, image_recipe
from meritnas.settings.augment import Augment

SPACES: tuple[ImageSpace, ...] = ("darts", "nasbench201")


def paper(space: ImageSpace, **options: Any) -> ImageRecipe:
    return image_recipe("paper", space, images=25_000, **options)


def test_darts_as_published() -> None:
    found = paper("darts")
    search, retrain = found.search, found.retrain
    assert (found.supernet_channels, found.supernet_cells, found.search_epochs) == (16, 8, 50)
    assert (search.optimizer, search.batch_size, search.clip) == ("sgd", 64, 5.0)
    assert search.rate_at(0, 50) == pytest.approx(0.025)
    assert search.rate_at(50, 50) == pytest.approx(0.001)
    assert (search.gradient_decay, search.nesterov) == (3e-4, False)
    assert search.augment == Augment(crop=4, flip=True)
    assert search.auxiliary == 0
    assert found.warmup_share == 0
    assert (found.channels, found.cells, found.retrain_epochs) == (36, 20, 600)
    assert (retrain.batch_size, retrain.clip, retrain.auxiliary) == (96, 5.0, 0.4)
    assert retrain.rate_at(600, 600) == 0
    assert retrain.dropouts == (0.2,)
    assert found.drop_path == 0.2
    assert retrain.augment == Augment(crop=4, flip=True, cutout=16)


def test_partial_channels_bring_the_search_of_pc_darts() -> None:
    found = paper("darts", partial=4)
    assert found.partial == 4
    assert (found.search.batch_size, found.search.learning_rate) == (256, 0.1)
    assert found.search.rate_at(50, 50) == 0
    assert found.warmup_share * found.search_epochs == pytest.approx(15)
    assert found.retrain == paper("darts").retrain


def test_imagenet_as_published() -> None:
    found = paper("darts", partial=4, stem="imagenet", side=224)
    search, retrain = found.search, found.retrain
    assert (found.search_epochs, found.warmup_share, found.partial) == (50, 0.5, 4)
    assert (search.batch_size, search.rate_at(0, 9), search.rate_at(9, 9)) == (1024, 0.5, 0)
    assert (found.channels, found.cells, found.retrain_epochs) == (48, 14, 250)
    assert (retrain.batch_size, retrain.gradient_decay) == (1024, 3e-5)
    assert retrain.rate_at(125, 250) == pytest.approx(0.25)  # in a line, not along a cosine
    assert retrain.rate_at(50, 250) == pytest.approx(0.4)
    assert (retrain.smoothing, retrain.auxiliary, found.drop_path) == (0.1, 0.4, 0)


def test_nasbench201_as_published() -> None:
    found = paper("nasbench201")
    search, retrain = found.search, found.retrain
    assert (found.search_epochs, found.warmup_share * found.search_epochs) == (100, 50)
    assert (search.batch_size, search.learning_rate, search.clip) == (64, 0.1, 1.0)
    assert (found.channels, found.cells, found.retrain_epochs) == (16, 5, 200)
    assert (retrain.batch_size, retrain.learning_rate, retrain.clip) == (256, 0.1, None)
    for recipe in (search, retrain):
        assert (recipe.nesterov, recipe.gradient_decay, recipe.final_rate) == (True, 5e-4, 0.0)
        assert recipe.augment == Augment(crop=4, flip=True)
        assert recipe.averaging == 0


@pytest.mark.parametrize("space", SPACES)
def test_grey_images_are_not_mirrored(space: ImageSpace) -> None:
    for preset in ("quick", "paper"):
        grey = image_recipe(preset, space, images=1000, colour=False)
        colour = image_recipe(preset, space, images=1000)
        for recipe in (grey.search, grey.retrain):
            assert not recipe.augment.flip
        assert colour.search.augment.flip
        assert colour.retrain.augment.flip


@pytest.mark.parametrize(
    ("side", "colour", "augment"),
    [
        (32, True, Augment(4, flip=True)),
        (96, True, Augment(12, flip=True)),
        (28, False, Augment(2)),
        (8, False, Augment()),
    ],
)
def test_quick_crops_in_proportion(side: int, colour: bool, augment: Augment) -> None:
    found = image_recipe("quick", "nasbench201", images=9, colour=colour, side=side)
    assert found.search.augment == found.retrain.augment == augment


@pytest.mark.parametrize("space", SPACES)
def test_quick_makes_more_passes_over_fewer_images(space: ImageSpace) -> None:
    def steps(images: int) -> int:
        found = image_recipe("quick", space, images=images)
        assert found.retrain.auxiliary == 0
        return found.search_epochs * max(1, images // found.search.batch_size)

    assert [steps(2_000), steps(10_000)] == pytest.approx([1000, 1000], abs=200)
    assert steps(40) <= 60
    assert image_recipe("quick", space, images=10**6).retrain_epochs == 5


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"preset": "slow"}, "preset must be quick or paper, got 'slow'"),
        ({"space": "tabular"}, "presets are for darts, nasbench201 and convnet, got 'tabular'"),
        ({"images": 0}, "images must be at least 1"),
        ({"side": 0}, "side must be at least 1"),
        ({"partial": 0}, "partial must be at least 1"),
    ],
)
def test_presets_that_do_not_exist_are_refused(wrong: dict[str, Any], rule: str) -> None:
    asked: dict[str, Any] = {"preset": "quick", "space": "darts", "images": 100, **wrong}
    with pytest.raises(UsageError, match=rule):
        image_recipe(asked.pop("preset"), asked.pop("space"), **asked)
