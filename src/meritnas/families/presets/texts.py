"""How language models are trained by default: as AdvantageNAS has it, and a quick way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from meritnas.errors import UsageError
from meritnas.families.presets.recipe import Recipe
from meritnas.settings.preset import Facts
from meritnas.settings.recipe import TrainRecipe


@dataclass(frozen=True)
class TextRecipe(Recipe):
    """All that a search on a text and the training of what it found take.

    The batch size of `search` is the number of columns.

    Attributes:
        width: of embeddings, state and nodes.
        search_dropout: of the supernet's embeddings and outputs.
        learn_on: the part of the text that beliefs learn on.
    """

    width: int
    search_dropout: float = 0.0
    learn_on: Literal["valid", "train"] = "valid"


_PLAIN_SGD = TrainRecipe(
    "sgd",
    learning_rate=20.0,
    momentum=0.0,
    batch_size=256,
    weight_decay=0.0,
    dropout=0.5,
    averaging=0.0,
    clip=0.25,
)
PAPER = TextRecipe(
    search=replace(_PLAIN_SGD, dropout=0.0),
    search_epochs=30,
    warmup_share=0.0,
    retrain=_PLAIN_SGD,
    retrain_epochs=100,
    width=300,
    search_dropout=0.5,
    learn_on="train",
)
"""AdvantageNAS on Penn Treebank (section 5.3 and appendix E)."""

_QUICK = TrainRecipe(
    learning_rate=0.003,
    batch_size=32,
    weight_decay=0.0,
    dropout=0.3,
    averaging=0.0,
    clip=1.0,
)
_QUICK_STEPS = (1200, 2400)
_QUICK_EPOCHS = (1, 20)


def text_recipe(name: str, pieces: int) -> TextRecipe:
    """The preset of this name.

    Args:
        name: `quick` (minutes) or `paper`.
        pieces: how many windows of words the training text has.
    """
    if name == "paper":
        return PAPER
    if name != "quick":
        raise UsageError(f"the preset must be quick or paper, got '{name}'")
    steps = max(1, pieces // _QUICK.batch_size)
    least, most = _QUICK_EPOCHS
    search, alone = (min(most, max(least, math.ceil(n / steps))) for n in _QUICK_STEPS)
    return TextRecipe(
        search=replace(_QUICK, dropout=0.0),
        search_epochs=search,
        warmup_share=0.25,
        retrain=_QUICK,
        retrain_epochs=alone,
        width=128,
    )


def texts_recipe(name: str | None, facts: Facts) -> TextRecipe:
    """The recipe of this name for the text there is; None for the quick one."""
    return text_recipe(name or "quick", facts.rows // facts.window)
