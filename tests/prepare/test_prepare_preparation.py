from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from meritnas.data.images.source import load_images
from meritnas.data.tables.source import load_source
from meritnas.errors import DataError, UsageError
from meritnas.prepare.defaults import image_settings, table_settings
from meritnas.prepare.preparation import (
    AnyData,
    AnySource,
    outline_of,
    prepare,
    prepare_again,
    source_of,
)
from meritnas.run.job import make_config
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore

NOTHING: dict[str, Any] = {"limits": {}, "strategy_options": {}, "device": "cpu", "seed": 0}


def images() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 255, (40, 8, 8, 3), dtype=np.uint8), np.arange(40) % 2


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(list("xyz"), 60)})
    return frame.assign(y=np.where(frame["a"] > 0, "up", "down"))


def case(kind: str) -> tuple[SearchSettings, AnySource, AnyData]:
    if kind == "images":
        return image_settings(24, (3, 8, 8), NOTHING), load_images(images()), images()
    asked = {**NOTHING, "scaling": "standard"}
    return table_settings(36, 2, asked), load_source(table(), "y"), table()


def new_run(folder: Path, settings: SearchSettings, source: AnySource) -> RunStore:
    return RunStore.create(folder, make_config(settings, source))


@pytest.mark.parametrize("kind", ["table", "images"])
def test_what_was_prepared_is_prepared_the_same_again(tmp_path: Path, kind: str) -> None:
    settings, source, data = case(kind)
    first = prepare(settings, source, outline_of(settings, source))
    store = new_run(tmp_path / "run", settings, source)
    first.write(store)
    again = prepare_again(settings, store, data)
    assert again.family == first.family
    assert again.scaling == first.scaling
    assert again.bundle.encoder == first.bundle.encoder
    for part in ("train", "valid", "test"):
        ours, theirs = getattr(again.bundle, part), getattr(first.bundle, part)
        assert ours.inputs.equal(theirs.inputs)
        assert ours.target.equal(theirs.target)


@pytest.mark.parametrize("kind", ["table", "images"])
def test_a_run_killed_before_it_was_written_is_prepared_anew(tmp_path: Path, kind: str) -> None:
    settings, source, data = case(kind)
    store = new_run(tmp_path / "run", settings, source)
    assert not store.has("preprocessing.json")
    prepare_again(settings, store, data)
    assert store.has("preprocessing.json")


def test_images_are_standardised_and_nothing_is_tried_for_that() -> None:
    settings, source, _ = case("images")
    found = prepare(settings, source, outline_of(settings, source))
    assert (found.scaling.scaling, found.scaling.losses) == ("standard", {})
    assert found.bundle.train.inputs.shape[1:] == (3, 8, 8)
    assert abs(float(found.bundle.train.inputs.mean())) < 0.01


def test_data_must_be_what_the_run_was_made_on(tmp_path: Path) -> None:
    settings, source, _ = case("images")
    store = new_run(tmp_path / "images", settings, source)
    with pytest.raises(UsageError, match="data in memory; give it again"):
        source_of(store, None)
    with pytest.raises(UsageError, match="made on images, not on a table"):
        source_of(store, table())
    pixels, labels = images()
    with pytest.raises(DataError, match="has changed since run"):
        source_of(store, (255 - pixels, labels))
    settings, source, _ = case("table")
    store = new_run(tmp_path / "table", settings, source)
    with pytest.raises(UsageError, match="made on a table, not on images"):
        source_of(store, images())
