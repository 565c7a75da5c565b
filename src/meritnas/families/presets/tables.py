"""How networks for tables are trained by default, by the table's size."""

from __future__ import annotations

from meritnas.errors import UsageError, whole_number
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.recipe import (
    TrainRecipe,
    default_batch_size,
    default_search_epochs,
    default_threads,
    default_train_epochs,
)
from meritnas.settings.settings import WARMUP_SHARE
from meritnas.settings.spec import SpaceSpec


def tables_preset(space: SpaceSpec, name: str | None, facts: Facts) -> Preset:
    """All that a search on a table takes, for a space with all its sizes.

    How often a network sees all rows, and in how many threads, follows from the batch size, too.

    Args:
        space: which networks.
        name: must be None, tables have no presets by name.
        facts: `rows` to train on, `shape` (columns,) and perhaps the `batch_size` of a user.
    """
    if name is not None:
        raise UsageError("preset is for images, and this is a table; leave it out")
    asked = facts.batch_size
    batch = (
        default_batch_size(facts.rows) if asked is None else whole_number("batch_size", asked, 2)
    )
    return Preset(
        space=space,
        search=TrainRecipe(batch_size=batch),
        search_epochs=default_search_epochs(facts.rows, batch),
        warmup=WARMUP_SHARE,
        retrain=None,
        retrain_epochs=default_train_epochs(facts.rows, batch),
        retrain_seeds=3,
        finalists=3,
        threads=default_threads(batch * facts.shape[0]),
    )
