from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from meritnas.data.bundle import Outline
from meritnas.data.kind import DataKind, Source
from meritnas.data.kinds import kind_named
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, UsageError
from meritnas.families.darts.spec import Darts
from meritnas.prepare.config import make_config
from meritnas.prepare.preparation import prepare, prepare_again
from meritnas.prepare.settle import settle
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore

Case = tuple[SearchSettings, DataKind, Source, Outline]


def images() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 255, (40, 8, 8, 3), dtype=np.uint8), np.arange(40) % 2


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(list("xyz"), 60)})
    return frame.assign(y=np.where(frame["a"] > 0, "up", "down"))


def case(name: str) -> tuple[Case, Any]:
    kind = kind_named(name)
    data: Any = images() if name == "images" else table()
    reading = TableReading(scaling="standard") if name == "table" else kind.reading()
    source = kind.load(data, "y" if name == "table" else None, reading)
    outline = kind.outline(source, reading, 0)
    settings = settle(Request(reading=reading), kind, kind.facts(source, outline, reading))
    return (settings, kind, source, outline), data


def new_run(folder: Path, made: Case) -> RunStore:
    settings, kind, source, _ = made
    return RunStore.create(folder, make_config(settings, kind, source))


@pytest.mark.parametrize("kind", ["table", "images"])
def test_what_was_prepared_is_prepared_the_same_again(tmp_path: Path, kind: str) -> None:
    made, data = case(kind)
    first = prepare(*made)
    store = new_run(tmp_path / "run", made)
    first.write(store)
    again = prepare_again(made[0], store, data)
    assert again.family == first.family
    assert again.encoding == first.encoding
    assert again.facts == first.facts
    assert again.bundle.encoder == first.bundle.encoder
    for part in ("train", "valid", "test"):
        ours, theirs = getattr(again.bundle, part), getattr(first.bundle, part)
        assert ours.inputs.equal(theirs.inputs)
        assert ours.target.equal(theirs.target)


def test_columns_stay_what_an_earlier_version_took_them_as(tmp_path: Path) -> None:
    (settings, kind, source, outline), data = case("table")
    other = TableReading(scaling="standard", drop=("b",))  # stands for another version's rules
    first = prepare(replace(settings, reading=other), kind, source, outline)
    store = new_run(tmp_path / "run", (settings, kind, source, outline))
    first.write(store)
    again = prepare_again(settings, store, data)
    assert again.bundle.encoder == first.bundle.encoder
    assert again.family == first.family
    assert again.bundle.valid.inputs.equal(first.bundle.valid.inputs)
    made, pictures = case("images")
    store = new_run(tmp_path / "other", made)
    prepare(*made).write(store)
    kept = store.read_json("preprocessing.json")
    kept["encoder"]["mean"] = [0.25] * len(kept["encoder"]["mean"])
    store.write_json("preprocessing.json", kept)
    with pytest.raises(DataError, match=r"encodes .* differently from the one that made run"):
        prepare_again(made[0], store, pictures)


@pytest.mark.parametrize("kind", ["table", "images"])
def test_a_run_killed_before_it_was_written_is_prepared_anew(tmp_path: Path, kind: str) -> None:
    made, data = case(kind)
    store = new_run(tmp_path / "run", made)
    assert not store.has("preprocessing.json")
    prepare_again(made[0], store, data)
    assert store.has("preprocessing.json")


def test_images_are_standardised_and_nothing_is_tried_for_that() -> None:
    made, _ = case("images")
    found = prepare(*made)
    assert (found.encoding.name, found.encoding.losses) == ("standard", {})
    assert found.bundle.train.inputs.shape[1:] == (3, 8, 8)
    assert abs(float(found.bundle.train.inputs.mean())) < 0.01


def test_data_must_be_what_the_run_was_made_on(tmp_path: Path) -> None:
    made, _ = case("images")
    settings, store = made[0], new_run(tmp_path / "images", made)
    with pytest.raises(UsageError, match="data in memory; give it again"):
        prepare_again(settings, store, None)
    with pytest.raises(UsageError, match="made on images, not on a table"):
        prepare_again(settings, store, table())
    pixels, labels = images()
    with pytest.raises(DataError, match="has changed since run"):
        prepare_again(settings, store, (255 - pixels, labels))
    made, _ = case("table")
    store = new_run(tmp_path / "table", made)
    with pytest.raises(UsageError, match="made on a table, not on images"):
        prepare_again(made[0], store, images())


def test_what_networks_do_not_say_cannot_be_limited() -> None:
    (settings, kind, source, outline), _ = case("images")
    limits = Limits(max_params_paper=9)
    limited = replace(settings, space=Darts(), limits=limits.by_cost())
    with pytest.raises(
        UsageError, match="has no limit on params-paper; for images limit params or flops or size"
    ):
        prepare(limited, kind, source, outline)
