from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from meritnas.data.images.reading import ImageReading
from meritnas.data.kinds import kind_named
from meritnas.devices.placement import check_device
from meritnas.errors import UsageError
from meritnas.families.catalogue import space_spec
from meritnas.families.darts.spec import Darts, DartsUnique
from meritnas.families.nasbench201.spec import Nasbench201
from meritnas.families.presets.images import image_recipe
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.config import make_config, settings_of
from meritnas.prepare.settle import settle, usual_epochs
from meritnas.settings.limits import Limits
from meritnas.settings.preset import Facts
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.settings import SearchSettings
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.catalogue import strategy_spec

IMAGES, TABLE = kind_named("images"), kind_named("table")
COLOUR = Facts("images", 1_000, (3, 32, 32))
ROWS = Facts("table", 900, (4,))


class Anywhere:
    """Data that is nowhere."""

    name, location, fingerprint, notes = "made up", None, "", ()
    target = "y"

    class labels:
        name = "label"

    class images:
        shape = (1_000, 32, 32, 3)


def of_images(**asked: Any) -> SearchSettings:
    return settle(Request(**asked), IMAGES, COLOUR)


def again(settings: SearchSettings, kind: Any) -> SearchSettings:
    """As another process reads it from config.json."""
    config = {"version": 2, **make_config(settings, kind, Anywhere())}
    return settings_of(json.loads(json.dumps(config)))


def test_settings_for_images_survive_json() -> None:
    settings = of_images(
        space=Darts(), preset="paper", strategy="pc-darts", limits=Limits(max_params=9)
    )
    found = again(settings, IMAGES)
    assert found == settings
    assert found.alone == settings.child_recipe


def test_settings_for_tables_survive_json() -> None:
    asked = Request(
        space=Tabular(layers=2, widths=((2, 4), (3,)), embedding=2),
        strategy=strategy_spec("evolution", {"population": 7}),
        limits=Limits(400, 900, max_size_kb=1.5),
        minutes=0.5,
        reading=TABLE.reading(task="regression", scaling="quantile", class_weight="balanced"),
        training=Training(64, 0.05, "sgd", "constant", 0.2),
        retraining=Retraining(finalists=2, dropout=0.25),
        seed=7,
        pareto=True,
        run=RunOptions(threads=1),
    )
    settings = settle(asked, TABLE, ROWS)
    assert settings.limits == {"params": 400, "flops": 900, "size": 1500}
    assert again(settings, TABLE) == settings


def test_what_is_given_wins_over_the_preset_in_both_recipes() -> None:
    settings = of_images(
        training=Training(learning_rate=0.05, warmup=0.1),
        reading=ImageReading(crop=2, flip=False),
        space=Nasbench201(channels=12),
    )
    assert settings.recipe.learning_rate == settings.alone.learning_rate == 0.05
    assert settings.recipe.augment == settings.alone.augment
    assert (settings.recipe.augment.crop, settings.recipe.augment.flip) == (2, False)
    assert settings.warmup == 0.1
    preset = image_recipe("quick", "nasbench201", images=1_000)
    assert isinstance(settings.space, Nasbench201)
    assert settings.space.channels == 12
    assert settings.space.supernet_channels == preset.supernet_channels


def test_a_supernet_has_neither_dropout_nor_an_auxiliary_head() -> None:
    settings = of_images(space=Darts(auxiliary=0.4), retraining=Retraining(dropout=0.3))
    assert (settings.recipe.dropout, settings.recipe.auxiliary) == (0.0, 0.0)
    assert (settings.alone.dropout, settings.alone.auxiliary) == (0.3, 0.4)


@pytest.mark.parametrize(
    ("strategy", "space", "partial"),
    [
        ("pc-darts", "darts", 4),
        ("pc-darts", "nasbench201", 4),
        ("darts", "darts", 1),
        ("shapley", "darts-s2", 4),
        ("shapley", "nasbench201", 1),
    ],
)
def test_some_strategies_see_a_quarter_of_the_channels(
    strategy: str, space: str, partial: int
) -> None:
    found: Any = of_images(space=space, strategy=strategy).space
    assert found.partial_channels == partial
    other: Any = of_images(
        space=space_spec(space, {"partial_channels": 2}), strategy=strategy
    ).space
    assert other.partial_channels == 2


def test_where_every_cell_has_its_own_decisions_the_supernet_has_all_cells() -> None:
    found = of_images(space=DartsUnique(cells=7)).space
    assert isinstance(found, DartsUnique)
    assert found.supernet_cells == 7


def test_with_minutes_nothing_is_said_about_epochs() -> None:
    settings = of_images(minutes=2.0)
    assert settings.epochs is settings.retrain_epochs is None
    usual = of_images()
    assert usual_epochs(settings, COLOUR) == (usual.epochs, usual.retrain_epochs)


@pytest.mark.parametrize("batch", [None, 16, 300])
def test_epochs_of_a_table_follow_from_its_batches(batch: int | None) -> None:
    usual = settle(Request(training=Training(batch_size=batch)), TABLE, ROWS)
    timed = replace(usual, epochs=None, minutes=1.0)
    assert usual_epochs(timed, ROWS) == (usual.epochs, usual.retrain_epochs)


def test_what_is_not_limited_is_no_limit() -> None:
    assert of_images(limits=Limits(max_params=5)).limits == {"params": 5}
    assert of_images().limits == {}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"space": "tabular"}, "use convnet or nasbench201"),
        ({"preset": "slow"}, "preset must be one of quick, paper, got 'slow'"),
        ({"strategy": "dart"}, "did you mean 'darts'"),
        ({"run": RunOptions("abacus")}, "device 'abacus' cannot be used here"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        of_images(**asked)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Request(epochs=3, minutes=1.0), "either epochs or minutes"),
        (lambda: Request(minutes=0.0), "minutes must be above 0"),
        (lambda: Request(seed=2**32), "seed must be below"),
        (lambda: strategy_spec("advantage", {"beta": -1.0}), "no option 'beta'"),
        (lambda: Nasbench201(supernet_cells=0), "supernet_cells must be at least 1"),
        (lambda: Nasbench201(channels=2.5), "channels must be a whole number"),  # type: ignore[arg-type]
        (lambda: Limits(max_params=2.5), "max_params must be a whole number"),  # type: ignore[arg-type]
        (lambda: Limits(max_size_kb=0.0), "max_size_kb must be above 0"),
        (lambda: Retraining(seeds=0), "retrain_seeds must be at least 1"),
    ],
)
def test_what_makes_no_sense_cannot_be_written_down(make: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make()


@pytest.mark.parametrize("name", ["text", "modalities"])
def test_pc_darts_needs_channels(name: str) -> None:
    kind = kind_named(name)
    facts = Facts(name, 5_000, (), 2, 35)
    with pytest.raises(UsageError, match=r"trains a part of a cell's channels and .* have none"):
        settle(Request(strategy="pc-darts"), kind, facts)


def test_a_device_that_is_not_here() -> None:
    check_device("cpu")
    with pytest.raises(UsageError, match="device 'abacus' cannot be used here"):
        check_device("abacus")


@pytest.mark.parametrize("name", ["manas", "manas-coordinated-zipf"])
def test_agents_that_learn_beside_the_weights_have_no_warm_up_unless_asked_for(name: str) -> None:
    assert of_images(strategy=strategy_spec(name)).warmup == 0.0
    asked = of_images(strategy=strategy_spec(name), training=Training(warmup=0.3))
    assert asked.warmup == 0.3
    assert of_images(strategy=strategy_spec("manas-ls")).warmup > 0.0


def test_a_table_by_the_paper_is_trained_as_tabnas_has_it_on_criteo() -> None:
    settings = settle(Request(preset="paper"), TABLE, ROWS)
    recipe = settings.alone
    assert (settings.epochs, settings.retrain_epochs, settings.warmup) == (120, 60, 0.25)
    assert (recipe.optimizer, recipe.learning_rate, recipe.batch_size) == ("adam", 0.002, 512)
    assert (recipe.adam_eps, recipe.weight_decay) == (0.001, 0)
    assert (recipe.dropouts, recipe.averaging) == ((0.0,), 0)
    assert again(settings, TABLE) == settings
    quick = settle(Request(preset="quick"), TABLE, ROWS)
    assert replace(quick, preset=None) == settle(Request(), TABLE, ROWS)


def test_the_other_rows_of_its_table_are_a_few_changes() -> None:
    volkert = Training(32, 0.01, "sgd", "constant")
    settings = settle(Request(preset="paper", training=volkert), TABLE, ROWS)
    assert (settings.alone.batch_size, settings.alone.rate_at(7, 9)) == (32, 0.01)
    assert (settings.alone.optimizer, settings.alone.weight_decay) == ("sgd", 0)


def test_what_adam_adds_is_for_adam() -> None:
    found = settle(Request(training=Training(adam_eps=1e-4)), TABLE, ROWS)
    assert found.recipe.adam_eps == 1e-4
    with pytest.raises(UsageError, match=r"adam_eps=0\.0001 is for the optimizer adam"):
        of_images(space=Nasbench201(), training=Training(adam_eps=1e-4))
