"""How networks for tables are trained by default: by the table's size, or as TabNAS has it."""

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

PAPER = TrainRecipe(
    learning_rate=0.002,
    batch_size=512,
    weight_decay=0.0,
    dropout=0.0,
    averaging=0.0,
    adam_eps=1e-3,
)
"""TabNAS on Criteo (table 2); its other rows differ in rate, schedule, optimiser and batch."""

_PAPER_SEARCH, _PAPER_EPOCHS = 120, 60
"""A search takes twice as many epochs as a network alone."""


def tables_preset(space: SpaceSpec, name: str | None, facts: Facts) -> Preset:
    """All that a search on a table takes, for a space with all its sizes.

    Of `quick`, which is what there is without a name, how often a network sees all rows follows
    from how many there are, and from the batch size, too.

    Args:
        space: which networks.
        name: `quick` or `paper`.
        facts: `rows` to train on, `shape` (columns,) and perhaps the `batch_size` of a user.
    """
    if name not in (None, "quick", "paper"):
        raise UsageError(f"the preset must be quick or paper, got '{name}'")
    paper, asked = name == "paper", facts.batch_size
    usual = PAPER.batch_size if paper else default_batch_size(facts.rows)
    batch = usual if asked is None else whole_number("batch_size", asked, 2)
    quick = default_search_epochs(facts.rows, batch), default_train_epochs(facts.rows, batch)
    search_epochs, epochs = (_PAPER_SEARCH, _PAPER_EPOCHS) if paper else quick
    return Preset(
        space=space,
        search=PAPER if paper else TrainRecipe(batch_size=batch),
        search_epochs=search_epochs,
        warmup=WARMUP_SHARE,
        retrain=None,
        retrain_epochs=epochs,
        retrain_seeds=3,
        finalists=3,
        threads=default_threads(batch * facts.shape[0]),
    )
