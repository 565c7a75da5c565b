"""Every kind of data does what the protocol says, on small data of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from meritnas.data.bundle import Bundle, Outline
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.kind import DataKind, Source
from meritnas.data.kinds import (
    KINDS,
    encoder_from_json,
    kind_named,
    kind_of,
    load_again,
    recognise,
    refuse_foreign,
)
from meritnas.data.modalities.inputs import ModalityInputs
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, UsageError
from meritnas.settings.preset import Facts


@dataclass(frozen=True)
class Example:
    """Small data of one kind.

    Attributes:
        path: where it is.
        target: what is predicted.
        facts: what defaults follow from.
        inputs: what comes into a network.
        new: the same in memory; None where a network takes none.
        reading: settings that are not as usual.
    """

    path: Path
    target: str | None
    facts: Facts
    inputs: Any
    new: Any = None
    reading: dict[str, Any] = field(default_factory=dict)


def a_table(folder: Path) -> Example:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=60), "city": np.arange(60) % 3, "y": ["no", "yes"] * 30}
    ).replace({"city": {0: "Bonn", 1: "Rome", 2: "Ulm"}})
    frame.to_csv(folder / "rows.csv", index=False)
    new = pd.read_csv(folder / "rows.csv")
    inputs = TableInputs(1, (4,), names=("a", "city"), thresholds=((),))
    return Example(folder / "rows.csv", "y", Facts("table", 36, (2,)), inputs, new)


def some_images(folder: Path) -> Example:
    pixels = np.random.default_rng(0).integers(0, 256, (30, 8, 6, 3), dtype=np.uint8)
    np.savez(folder / "pictures.npz", images=pixels, labels=np.arange(30) % 2)
    facts = Facts("images", 18, (3, 8, 6))
    return Example(folder / "pictures.npz", None, facts, (3, 8, 6), pixels)


def a_text(folder: Path) -> Example:
    words = np.random.default_rng(0).integers(9, size=600)
    (folder / "story.txt").write_text(" ".join(f"w{n}" for n in words), encoding="utf-8")
    facts = Facts("text", 480, window=4)
    return Example(folder / "story.txt", None, facts, 10, reading={"window": 4})


def some_modalities(folder: Path) -> Example:
    rng = np.random.default_rng(0)
    arrays = {"sound": rng.random((40, 3)), "look": rng.random((40, 5, 4, 1))}
    np.savez(folder / "views.npz", y=np.arange(40) % 2, **arrays)  # type: ignore[arg-type]
    inputs = ModalityInputs({"sound": ((3,),), "look": ((1, 5, 4),)}, ("look",))
    facts = Facts("modalities", 24, parts=2)
    return Example(folder / "views.npz", "y", facts, inputs, arrays)


EXAMPLES: dict[str, Callable[[Path], Example]] = {
    "table": a_table,
    "images": some_images,
    "text": a_text,
    "modalities": some_modalities,
}


@dataclass(frozen=True)
class Read:
    """An example after it was read."""

    kind: DataKind
    example: Example
    reading: Any
    source: Source
    outline: Outline
    bundle: Bundle[Any]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Read:
    kind: DataKind = request.param
    example = EXAMPLES[kind.name](tmp_path)
    reading = kind.reading(**example.reading)
    source = kind.load(str(example.path), example.target, reading)
    outline = kind.outline(source, reading, 0)
    encoding = kind.encodings(reading, outline)[0]
    bundle = kind.encode(source, outline, reading, encoding=encoding, batch_size=4)
    return Read(kind, example, reading, source, outline, bundle)


def test_every_kind_has_an_example() -> None:
    assert [kind.name for kind in KINDS] == list(EXAMPLES)
    assert len({kind.stored for kind in KINDS}) == len(KINDS)


def test_facts_are_what_defaults_follow_from(read: Read) -> None:
    assert read.kind.facts(read.source, read.outline, read.reading) == read.example.facts


def test_the_encoder_says_whose_it_is_and_what_comes_in(read: Read) -> None:
    encoder = read.bundle.encoder
    assert encoder.kind == read.kind.name
    assert kind_of(encoder) is kind_named(encoder.kind) is read.kind
    assert encoder.inputs == read.example.inputs
    assert list(encoder.warnings) == []


def test_the_encoder_survives_json(read: Read) -> None:
    encoder = read.bundle.encoder
    kept = json.loads(json.dumps(encoder.to_json()))
    assert encoder_from_json(kept) == encoder
    assert kept.get("kind", "") == read.kind.stored


def test_new_data_is_encoded_as_the_old(read: Read) -> None:
    encoder, new = read.bundle.encoder, read.example.new
    if new is None:
        with pytest.raises(UsageError, match="go on with a prompt"):
            read.kind.new_inputs(encoder, str(read.example.path))
        return
    inputs = read.kind.new_inputs(encoder, new)
    assert torch.equal(inputs[read.outline.split.train], read.bundle.train.inputs)


def test_a_new_file_is_read_with_its_answers(read: Read) -> None:
    encoder, task = read.bundle.encoder, read.bundle.task
    if read.example.new is None:
        with pytest.raises(UsageError, match="go on with a prompt"):
            read.kind.read_new(str(read.example.path), encoder, task)
        return
    found = read.kind.read_new(str(read.example.path), encoder, task)
    assert torch.equal(
        read.kind.new_inputs(encoder, found.data), read.kind.new_inputs(encoder, read.example.new)
    )
    assert found.truth is not None
    assert torch.equal(task.encode(found.truth)[read.outline.split.train], read.bundle.train.target)
    assert " with known " in found.counted


def test_a_run_finds_its_data_again(read: Read) -> None:
    kept = {
        **read.kind.remembered(read.source, read.reading),
        "name": read.source.name,
        "location": read.source.location,
        "fingerprint": read.source.fingerprint,
    }
    kept = json.loads(json.dumps(kept))
    assert kept["kind"] == read.kind.name
    again = load_again(kept, None, "runs/1")
    assert (again.name, again.location, again.fingerprint) == (
        read.source.name,
        read.source.location,
        read.source.fingerprint,
    )
    with pytest.raises(DataError, match="has changed since run runs/1 was started"):
        load_again({**kept, "fingerprint": "other"}, None, "runs/1")
    with pytest.raises(UsageError, match="run runs/1 was started with data in memory"):
        load_again({**kept, "location": None}, None, "runs/1")


def test_a_graph_reads_what_becomes_the_networks_inputs(read: Read) -> None:
    given = read.kind.graph_inputs(read.bundle.encoder)
    for n in (1, 5):
        raw = given.sample(n, 0)
        assert len(raw) == len(given.free)
        found = given.module(*raw)
        assert found.dtype == read.bundle.train.inputs.dtype
        if not given.remembers:
            assert found.shape == (n, *read.bundle.train.inputs.shape[1:])
    again = given.sample(5, 0)
    for one, other in zip(raw, again, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_the_description_is_plain_and_says_the_kind(read: Read) -> None:
    found = read.kind.description(read.bundle.encoder)
    assert json.loads(json.dumps(found, allow_nan=False))["kind"] == read.kind.name
    assert found["inputs"]


def test_tables_and_modalities_have_columns(read: Read) -> None:
    names = [row.column for row in read.kind.columns(read.bundle.encoder)]
    known = {"table": ["a", "city"], "modalities": ["sound", "look"]}
    assert names == known.get(read.kind.name, [])


@pytest.mark.parametrize(
    ("rows", "scaling", "tried"),
    [
        (99, "auto", ("standard",)),
        (100, "auto", ("standard", "quantile")),
        (100, "quantile", ("quantile",)),
        (5, "quantile", ("quantile",)),
    ],
)
def test_both_scalings_are_tried_on_enough_rows(rows: int, scaling: Any, tried: Any) -> None:
    table = kind_named("table")
    frame = pd.DataFrame({"a": np.arange(300.0), "y": ["no", "yes"] * 150})
    reading = TableReading(scaling=scaling)
    outline = table.outline(table.load(frame, "y", reading), reading, 0)
    outline.split.train.resize(rows, refcheck=False)
    assert table.encodings(reading, outline) == tried


PAIR = (np.zeros((20, 8, 8)), np.zeros(20))
FLAT = (np.zeros((20, 8)), np.zeros(20))
FRAME = pd.DataFrame({"a": [1.0]})
ARRAYS = {"a": np.zeros((3, 2))}


@pytest.mark.parametrize(
    ("data", "wanted", "name"),
    [
        (FRAME, None, "table"),
        ("digits", None, "table"),
        ("sales.csv", None, "table"),
        ("mnist5k", None, "images"),
        (PAIR, None, "images"),
        (Path("archive.npz"), None, "images"),
        (ARRAYS, None, "modalities"),
        ("digits", "images", "images"),
        ("sales.csv", "images", "images"),
        (FLAT, "images", "images"),
        ("archive.npz", "modalities", "modalities"),
        (FRAME, "modalities", "modalities"),
        ("story.txt", "text", "text"),
        (Path("archive.npz"), "text", "text"),
        (FRAME, "table", "table"),
    ],
)
def test_data_is_recognised(data: Any, wanted: str | None, name: str) -> None:
    assert recognise(data, wanted).name == name


@pytest.mark.parametrize(
    ("data", "wanted", "message"),
    [
        (
            PAIR,
            "table",
            "the space tabular is for tables, and these are images; use convnet or nasbench201",
        ),
        (FRAME, "images", "a table cannot be searched with a space for images; use tabular"),
        (FLAT, None, "a pair of arrays is taken for images; give a table as a data frame"),
        (FLAT, "table", "a pair of arrays is taken for images; give a table as a data frame"),
        (FRAME, "text", "the space recurrent is for texts; give the path of a file or folder"),
        (ARRAYS, "text", "the space recurrent is for texts; give the path of a file or folder"),
        (ARRAYS, "table", "arrays by name are several modalities; use the space fusion"),
        (ARRAYS, "images", "arrays by name are several modalities; use the space fusion"),
        (PAIR, "modalities", "the space fusion is for several modalities; give a dict of arrays"),
    ],
)
def test_what_cannot_be_is_said(data: Any, wanted: str | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        recognise(data, wanted)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("images", "target is for tables; images have their classes, leave it out"),
        ("text", "target is for tables; a text's next word is what is predicted"),
    ],
)
def test_a_target_where_none_is(name: str, message: str, tmp_path: Path) -> None:
    kind, example = kind_named(name), EXAMPLES[name](tmp_path)
    with pytest.raises(UsageError) as error:
        kind.load(example.path, "y", kind.reading())
    assert str(error.value) == message


def test_modalities_need_a_target() -> None:
    kind = kind_named("modalities")
    with pytest.raises(UsageError, match=r"name the array or column to predict: target=\.\.\."):
        kind.load(ARRAYS, None, kind.reading())


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("table", {"image_size": 8}, "image_size is for images, and this is a table; leave it out"),
        (
            "table",
            {"flip": False, "crop": 2},
            "crop, flip is for images, and this is a table; leave it out",
        ),
        ("table", {"window": 5}, "window is for texts, and this is a table; leave it out"),
        (
            "table",
            {"text_form": "hashed"},
            "text_form is for several modalities (--space fusion), and this is a table; leave it "
            "out",
        ),
        (
            "images",
            {"task": "regression"},
            "task is for tables; images have their classes, leave it out",
        ),
        (
            "images",
            {"scaling": "auto"},
            "scaling is for tables, and these are images; leave it out",
        ),
        ("text", {"task": "regression"}, "task is not for texts; leave it out"),
        ("text", {"skip_bad_rows": True}, "skip_bad_rows is not for texts; leave it out"),
        ("text", {"image_size": 8}, "image_size is not for texts; leave it out"),
        (
            "text",
            {"class_weight": "balanced"},
            "class_weight is for tables, and this is a text; leave it out",
        ),
        (
            "modalities",
            {"level": "word"},
            "level is for texts, and these are several modalities; leave it out",
        ),
    ],
)
def test_settings_of_other_kinds_are_refused(
    name: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        refuse_foreign(kind_named(name), asked)
    assert str(error.value) == message


def test_own_settings_and_those_nobody_gave_are_not_refused(read: Read) -> None:
    own = read.reading.to_json()
    every = {name: None for kind in KINDS for name in kind.reading().to_json()}
    refuse_foreign(read.kind, {**every, "skip_bad_rows": False, **own})


def test_there_is_no_other_kind() -> None:
    with pytest.raises(DataError, match="there are table, images, text, modalities"):
        kind_named("sound")
    with pytest.raises(KeyError):
        encoder_from_json({"kind": "sound"})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("text", FRAME, "run r was made on a text; leave data out"),
        ("modalities", PAIR, "run r was made on several modalities; give those by name"),
        ("images", FRAME, "run r was made on images, not on a table; give those"),
        ("table", PAIR, "run r was made on a table, not on images; give that"),
    ],
)
def test_other_data_than_then(name: str, given: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load_again({"kind": name, "location": None, "fingerprint": ""}, given, "r")
    assert str(error.value) == message
