from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from meritnas.data.texts.bundle import encode_text
from meritnas.data.texts.reading import TextReading
from meritnas.data.texts.source import load_text
from meritnas.engine.start import make_search
from meritnas.families.recurrent.spec import Learnt, Recurrent
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import make_ground
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.strategy.advantage import Advantage


@pytest.mark.parametrize("part", ["valid", "train"])
def test_beliefs_learn_on_the_part_that_was_asked_for(part: Learnt, tmp_path: Path) -> None:
    """Their batches are of words that this part alone has; judgements cost the same."""
    rng = np.random.default_rng(0)
    for name, words in {"train": "abc", "valid": "de", "test": "de"}.items():
        text = " ".join(rng.choice(list(words), 900 if name == "train" else 200))
        (tmp_path / f"{name}.txt").write_text(text)
    bundle = encode_text(load_text(tmp_path, "character"), 4, 5)
    settings = SearchSettings(
        Recurrent(width=4, nodes=1, learn_on=part),
        Advantage(),
        TextReading("character"),
        recipe=TrainRecipe(batch_size=4, weight_decay=0.0),
    )
    ground = make_ground(make_family(settings, bundle.encoder, bundle.task), {})
    probe = make_search(settings, ground, bundle, None, 20).probe
    own = set((bundle.train if part == "train" else bundle.valid).inputs.unique().tolist())
    found = {word for _ in range(3) for word in probe.valid_batch().inputs.unique().tolist()}
    assert found <= own
    assert probe.evaluation_passes == len(bundle.valid) // 4
