from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.new_samples import load_views
from meritnas.data.modalities.source import load_modalities
from meritnas.errors import DataError, UsageError

N = 60
RNG = np.random.default_rng(0)
WORDS = ("red", "green", "blue", "small", "large", "round", "square", "old", "new", "soft")


def texts(n: int = N, words: int = 6, seed: int = 0) -> list[str | None]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, words)) for _ in range(n)]


def arrays(n: int = N) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "sound": rng.normal(5, 3, (n, 4)).astype(np.float32),
        "photo": rng.integers(0, 256, (n, 5, 6, 3)).astype(np.uint8),
        "words": np.array(texts(n)),
        "age": np.arange(n),
        "y": np.arange(n) % 3,
    }


def table(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "review": texts(n),
            "age": rng.integers(20, 70, n),
            "city": rng.choice(["Rome", "Oslo"], n),
            "gps.x": rng.normal(size=n),
            "gps.y": rng.normal(size=n),
            "liked": np.arange(n) % 2,
        }
    )


def everything(views: Any, **options: Any) -> tuple[ModalityEncoder, torch.Tensor]:
    rows = np.arange(N)
    encoder = ModalityEncoder.fit(views, rows, **options)
    return encoder, encoder.transform(views)


def again(encoder: ModalityEncoder) -> ModalityEncoder:
    return ModalityEncoder.from_json(json.loads(json.dumps(encoder.to_json())))


def save(folder: Path, **named: np.ndarray) -> Path:
    np.savez(folder / "views.npz", **named)  # type: ignore[arg-type]
    return folder / "views.npz"


def test_an_archive_on_disk(tmp_path: Path) -> None:
    path = save(tmp_path, **arrays())
    source = load_modalities(path, "y")
    assert source.name == "views"
    assert source.location == str(path.resolve())
    assert list(source.views) == ["sound", "photo", "words", "age"]
    encoder, inputs = everything(source.views)
    assert encoder.layout.modalities[0] == ("sound", ((4,),))
    assert encoder.layout.modalities[1] == ("photo", ((3, 5, 6),))
    assert encoder.layout.modalities[3] == ("age", ((1,),))
    assert encoder.pictures == ("photo",)
    assert inputs.shape == (N, encoder.layout.width)
    assert inputs.dtype == torch.float32
    assert inputs.min() == 0
    assert inputs.max() == 1
    for number in range(4):
        assert encoder.layout.present(inputs, number).tolist() == [1.0] * N
    photo = encoder.layout.features(inputs, 1)[0]
    wanted = torch.from_numpy(arrays()["photo"] / 255).permute(0, 3, 1, 2).float()
    torch.testing.assert_close(photo, wanted)
    assert load_modalities(arrays(), "y").fingerprint == source.fingerprint
    changed = arrays()
    changed["photo"][0, 0, 0, 0] ^= 1
    assert load_modalities(changed, "y").fingerprint != source.fingerprint


def test_columns_are_scaled_by_the_train_rows_alone() -> None:
    views = {"v": np.array([[0.0, 7], [10, 7], [20, 9], [-5, 7]])}
    encoder = ModalityEncoder.fit(views, np.array([0, 1]))
    assert encoder.transform(views)[:, 1:].tolist() == [[0, 0], [1, 0], [1, 0], [0, 0]]
    assert "1 of 2 columns have one value" in encoder.warnings[0]


@pytest.mark.parametrize("shape", [(N, 5, 6), (N, 5, 6, 1), (N, 1, 5, 6), (N, 3, 5, 6)])
def test_pictures_in_every_order_of_axes(shape: tuple[int, ...]) -> None:
    pixels = RNG.random(shape)
    encoder, inputs = everything({"p": pixels})
    channels = 3 if 3 in shape else 1
    assert encoder.layout.modalities[0][1] == ((channels, 5, 6),)
    last = pixels.reshape(N, channels, 5, 6).transpose(0, 2, 3, 1)
    assert torch.equal(encoder.transform({"p": last}), inputs)


def test_dotted_names_are_features_of_one_modality() -> None:
    data = {
        "video.0": RNG.random((N, 7)),
        "video.1": RNG.random((N, 8, 4)),
        "video.2": RNG.random((N, 6, 4, 4)),
        "other.0": RNG.random(N),
        "y": np.arange(N) % 2,
    }
    source = load_modalities(data, "y")
    encoder, inputs = everything(source.views)
    assert encoder.layout.modalities == (
        ("video", ((7,), (8, 4), (6, 4, 4))),
        ("other", ((1,),)),
    )
    assert encoder.pictures == ()
    found = encoder.layout.features(inputs, 0)[1].double().numpy()
    raw = data["video.1"]
    np.testing.assert_allclose(found, (raw - raw.min()) / (raw.max() - raw.min()), atol=1e-6)
    columns = encoder.layout.features(inputs, 0)[0]
    assert columns.amin(dim=0).tolist() == [0.0] * 7
    assert columns.amax(dim=0).tolist() == [1.0] * 7
    del data["y"]
    assert torch.equal(again(encoder).transform(load_views(data, encoder.columns)), inputs)
    with pytest.raises(DataError, match=r"'video' must be the features \[n, 7\].*got the features"):
        encoder.transform({"video": source.views["video"][:2]})
    with pytest.raises(DataError, match=r"'video' is a modality of its own.*video\.0"):
        load_modalities({**data, "video": RNG.random(N), "y": np.arange(N)}, "y")
    with pytest.raises(DataError, match=r"'video\.t' is .*features of a modality are numbers"):
        load_modalities({**data, "video.t": np.array(texts()), "y": np.arange(N)}, "y")


def test_a_table_on_disk(tmp_path: Path) -> None:
    frame = table()
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    made = []
    for data in (frame, tmp_path / "t.parquet", tmp_path / "t.csv.gz", str(tmp_path / "t.tsv")):
        source = load_modalities(data, "liked")
        assert list(source.views) == ["review", "table", "gps"]
        encoder, inputs = everything(source.views)
        # An age; for a city the places of missing, Oslo and Rome.
        assert encoder.layout.modalities[1] == ("table", ((4,),))
        assert encoder.layout.modalities[2] == ("gps", ((2,),))
        made.append(inputs)
        views = load_views(data, encoder.columns)
        assert torch.equal(again(encoder).transform(views), inputs)
    torch.testing.assert_close(made[0], made[1])
    torch.testing.assert_close(made[0], made[2])
    age, *city = made[0][:, encoder.layout.values(1)].T
    years = torch.tensor(frame["age"].to_list()).float()
    torch.testing.assert_close(age, (years - years.min()) / (years.max() - years.min()))
    assert city[0].sum() == 0
    assert city[1].bool().tolist() == (frame["city"] == "Oslo").tolist()


def test_what_counts_as_written_text() -> None:
    frame = table()
    frame["answer"] = np.resize(["I do not agree at all", "I agree with all of it"], N)
    frame["title"] = [" ".join(text.split()[:2]) for text in texts(seed=3) if text]
    assert list(load_modalities(frame, "liked").views) == ["review", "table", "gps"]
    mapping = {"said": ["title", "review"], "titles": "title", "facts": ["age", "answer"]}
    source = load_modalities(frame, "liked", mapping)
    assert isinstance(source.views["said"], pd.Series)
    assert source.views["said"][3] == f"{frame['title'][3]} {frame['review'][3]}"
    assert isinstance(source.views["titles"], pd.Series)
    assert list(source.views["facts"].columns) == ["age", "answer"]
    encoder, inputs = everything(source.views)
    assert encoder.columns["said"] == ("title", "review")
    assert torch.equal(encoder.transform(load_views(frame, encoder.columns)), inputs)


def test_a_table_beside_arrays() -> None:
    facts = table()[["age", "city"]].set_index(np.arange(N)[::-1])
    data = {**arrays(), "facts": facts, "said": table()[["review"]]}
    source = load_modalities(data, "y", ["photo", "facts", "said"])
    assert isinstance(source.views["facts"], pd.DataFrame)
    assert isinstance(source.views["said"], pd.Series)
    encoder, inputs = everything(source.views)
    # An age; for a city the places of missing, Oslo and Rome.
    assert encoder.layout.modalities[1] == ("facts", ((4,),))
    assert torch.equal(again(encoder).transform(load_views(data, encoder.columns)), inputs)
    # New texts are texts however few they are.
    some = {"photo": data["photo"][:2], "facts": facts[:2].assign(more=1), "said": data["said"][:2]}
    assert torch.equal(encoder.transform(load_views(some, encoder.columns)), inputs[:2])
    changed = {**data, "facts": facts.assign(city="Oslo")}
    found = load_modalities(changed, "y", ["photo", "facts", "said"])
    assert found.fingerprint != source.fingerprint
    with pytest.raises(DataError, match="'facts' has 59 where the others have 60"):
        load_modalities({**data, "facts": facts[1:]}, "y")


def test_columns_of_two_levels_are_groups() -> None:
    frame = table()
    levels = [("place", "city"), ("place", "x"), ("person", "age"), ("liked", "")]
    flat = frame[["city", "gps.x", "age", "liked"]]
    source = load_modalities(flat.set_axis(pd.MultiIndex.from_tuples(levels), axis=1), "liked")
    assert source.name == "frame"
    assert {name: list(view) for name, view in source.views.items()} == {
        "place": ["city", "x"],
        "person": ["age"],
    }
    assert source.target.tolist() == frame["liked"].tolist()


def test_columns_of_lists_are_vectors(tmp_path: Path) -> None:
    numbers = RNG.random((N, 3))
    cells: list[list[float] | None] = [*numbers.tolist()]
    cells[4] = None
    frame = table().assign(emb=cells, **{"video.0": numbers[:, :2].tolist()})
    frame.to_parquet(tmp_path / "t.parquet")
    for data in (frame, tmp_path / "t.parquet"):
        source = load_modalities(data, "liked")
        assert list(source.views) == ["review", "table", "gps", "emb", "video"]
        assert source.notes == ("of 60 rows, 1 have no 'emb'",)
        encoder, inputs = everything(source.views)
        assert encoder.layout.modalities[3:] == (("emb", ((3,),)), ("video", ((2,),)))
        np.testing.assert_array_equal(source.views["emb"][5], numbers[5])
        assert torch.equal(again(encoder).transform(load_views(data, encoder.columns)), inputs)
    named = load_modalities(frame, "liked", {"emb": "emb", "facts": ["age"]})
    assert list(named.views) == ["emb", "facts"]
    with pytest.raises(DataError, match=r"'other' is given emb, .*their own names: emb, video;"):
        load_modalities(frame, "liked", {"other": ["emb"]})
    with pytest.raises(DataError, match="'video' has columns of lists and other columns"):
        load_modalities(frame.assign(**{"video.1": 1}), "liked")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ([1.0], "the lists in the column 'emb' are 1, 2 long"),
        (7, "the column 'emb' holds 7 besides lists of numbers"),
        ([1.0, "a"], "lists that are not all of numbers"),
    ],
)
def test_lists_that_are_no_vector(cell: object, words: str) -> None:
    cells: list[object] = [[1.0, 2.0]] * N
    cells[5] = cell
    with pytest.raises(DataError, match=words):
        load_modalities(table().assign(emb=cells), "liked")


def test_choosing_modalities() -> None:
    assert list(load_modalities(arrays(), "y", ["words", "sound"]).views) == ["words", "sound"]
    assert list(load_modalities(table(), "liked", ["gps"]).views) == ["gps"]
    with pytest.raises(DataError, match=r"no modality 'sond'; did you mean 'sound'\?"):
        load_modalities(arrays(), "y", ["sond"])
    with pytest.raises(DataError, match=r"no modality 'city'; .*give name -> columns"):
        load_modalities(table(), "liked", ["city"])
    with pytest.raises(DataError, match=r"no column 'aeg' for .*'a'; did you mean 'age'\?"):
        load_modalities(table(), "liked", {"a": ["aeg"]})
    with pytest.raises(DataError, match="no column 'liked' for the modality 'a'"):
        load_modalities(table(), "liked", {"a": ["liked"]})
    with pytest.raises(DataError, match="'a' has no columns"):
        load_modalities(table(), "liked", {"a": []})
    with pytest.raises(DataError, match="is for tables"):
        load_modalities(arrays(), "y", {"a": ["sound"]})


def test_an_unknown_target_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no array 'wrds'.*did you mean 'words'.*sound, photo"):
        load_modalities(save(tmp_path, **arrays()), "wrds")
    with pytest.raises(DataError, match=r"no column 'likd'.*did you mean 'liked'.*review, age"):
        load_modalities(table(), "likd")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        load_modalities(tmp_path / "none.npz", "y")
    (tmp_path / "torn.npz").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match=r"damaged or not made by numpy\.savez"):
        load_modalities(tmp_path / "torn.npz", "y")
    objects = np.array(["a", None] * 30, dtype=object)
    with pytest.raises(DataError, match=r"'words' of .*holds Python objects, which could run code"):
        load_modalities(save(tmp_path, **{**arrays(), "words": objects}), "y")
    with pytest.raises(DataError, match="nothing besides its target"):
        load_modalities(save(tmp_path, y=np.arange(N)), "y")


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("sound", np.zeros((N - 1, 4)), "'sound' has 59 where the others have 60"),
        ("sound", np.zeros((N, 3, 50)), r"'sound' has the shape \[60, 3, 50\].*'sound.0'"),
        ("photo", np.zeros((N, 5, 5, 2)), r"'photo' has the shape \[60, 5, 5, 2\]"),
        ("photo", np.zeros((N, 3, 3, 3)), "at least 4 pixels"),
        ("sound", np.zeros((N, 0)), r"'sound' is float64 \[60, 0\]"),
        ("sound", np.zeros((N, 2), complex), "'sound' is complex128"),
        ("words", np.array([3, "a"] * 30, dtype=object), "'words' holds Python objects such as 3"),
        ("test", np.zeros(N - 1, bool), "'test' has 59 rows"),
        ("test", np.ones(N, bool), "keeps all rows for testing"),
    ],
)
def test_arrays_that_cannot_be_used(name: str, array: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        load_modalities({**arrays(), name: array}, "y")


def test_infinite_values_are_refused() -> None:
    data = arrays()
    data["sound"][3, 1] = np.inf
    with pytest.raises(DataError, match="'sound' holds inf in 1 places"):
        everything(load_modalities(data, "y").views)


def test_samples_without_a_modality() -> None:
    data: dict[str, np.ndarray] = {**arrays(), "photo": RNG.random((N, 5, 6))}
    data["sound"][[2, 4]] = np.nan
    data["photo"][[2, 5]] = np.nan
    data["words"] = np.array(texts(), dtype=object)
    data["words"][[2, 6, 7]] = [None, "", "  "]
    source = load_modalities(data, "y", ["sound", "photo", "words"])
    assert source.notes == (
        "1 of 60 rows without any modality are left out",
        "of 59 rows, 1 have no 'sound', 1 have no 'photo', 2 have no 'words'",
    )
    assert len(source.target) == N - 1
    views = load_modalities(data, "y").views
    encoder, inputs = everything(views)
    for number, lacking in enumerate(([2, 4], [2, 5], [2, 6, 7])):
        present = encoder.layout.present(inputs, number)
        assert torch.nonzero(present == 0)[:, 0].tolist() == lacking
        assert not inputs[lacking, encoder.layout.values(number)].any()
    assert not inputs.isnan().any()
    assert encoder.warnings == []


def test_single_missing_values_are_the_mean_of_the_train_rows() -> None:
    values = np.array([[0.0, 1], [4, np.nan], [np.nan, 5], [8, 3], [np.nan, np.nan]])
    encoder = ModalityEncoder.fit({"v": values}, np.array([0, 1, 2, 3, 4]))
    found = encoder.transform({"v": values})
    assert found.tolist() == [[1, 0, 0], [1, 0.5, 0.5], [1, 0.5, 1], [1, 1, 0.5], [0, 0, 0]]
    assert "2 single values of the train rows are missing" in encoder.warnings[0]


def test_rows_of_a_table_without_values_lack_it() -> None:
    frame = table()
    frame["age"] = frame["age"].astype(float)
    frame.loc[3, ["age", "city"]] = None
    frame.loc[4, "age"] = None
    encoder, inputs = everything(load_modalities(frame, "liked").views)
    present = encoder.layout.present(inputs, 1)
    assert torch.nonzero(present == 0)[:, 0].tolist() == [3]
    assert not inputs[3, encoder.layout.values(1)].any()


def test_rows_without_a_target_are_left_out() -> None:
    data = arrays()
    data["y"] = np.where(np.arange(N) < 5, np.nan, np.arange(N) % 2)
    source = load_modalities({**data, "test": np.arange(N) >= 50}, "y")
    assert source.notes[0] == "5 of 60 rows without a target are left out"
    assert "10 rows where 'test' is true" in source.notes[1]
    assert source.test is not None
    assert np.flatnonzero(source.test).tolist() == list(range(45, 55))
    np.testing.assert_array_equal(source.views["age"], np.arange(5, N))
    named = {**arrays(), "y": np.array(["", "a", "b"] * 20)}
    assert load_modalities(named, "y").target.tolist() == ["a", "b"] * 20
    with pytest.raises(DataError, match="both a target and a modality"):
        load_modalities({**arrays(), "y": np.full(N, np.nan)}, "y")


def test_names_of_class_numbers() -> None:
    named = {**arrays(), "y_names": np.array(["a", "b", "c"])}
    source = load_modalities(named, "y")
    assert "y_names" not in source.views
    assert source.target.tolist()[:4] == ["a", "b", "c", "a"]
    with pytest.raises(DataError, match="'y_names' has 2 names, but 'y' holds numbers from 0 to 2"):
        load_modalities({**named, "y_names": np.array(["a", "b"])}, "y")


@pytest.mark.parametrize("text", ["counted", "hashed"])
def test_texts_have_length_one(text: str) -> None:
    views = load_modalities(arrays(), "y", ["words"]).views
    encoder, inputs = everything(views, text=text, words=16)
    assert encoder.layout.modalities == (("words", ((16,),)),)
    np.testing.assert_allclose(inputs[:, 1:].norm(dim=1), 1.0, atol=1e-6)
    assert inputs.min() >= 0
    assert inputs.max() <= 1
    copy = again(encoder)
    assert copy == encoder
    assert torch.equal(copy.transform({"words": arrays()["words"]}), inputs)
    unseen = pd.Series(["zebra crossing", None, "red"], dtype=object)
    flags = copy.transform({"words": unseen})[:, 0]
    assert flags.tolist() == [1.0, 0.0, 1.0]


def test_words_of_one_text_only_are_rare_where_there_are_many() -> None:
    many = texts()
    many[0] = "unique snowflake"
    views = {"words": pd.Series(many, dtype=object)}
    encoder = ModalityEncoder.fit(views, np.arange(N))
    few = ModalityEncoder.fit(views, np.arange(10))
    assert "snowflake" not in encoder.to_json()["modalities"][0]["vocabulary"]
    assert "snowflake" in few.to_json()["modalities"][0]["vocabulary"]
    # Only what each text alone says is left.
    alone = {"words": pd.Series([f"word{place}" for place in range(N)], dtype=object)}
    assert ModalityEncoder.fit(alone, np.arange(N)).layout.width == 1 + N
    with pytest.raises(DataError, match="'words' hold no words"):
        ModalityEncoder.fit({"words": pd.Series(["!", "a"] * 30, dtype=object)}, np.arange(N))
    with pytest.raises(UsageError, match="no way 'spelled'"):
        everything(views, text="spelled")
    with pytest.raises(UsageError, match="words must be at least 1"):
        everything(views, words=0)


def test_json_gives_the_same_encoder() -> None:
    for source in (load_modalities(arrays(), "y"), load_modalities(table(), "liked")):
        encoder, inputs = everything(source.views)
        copy = again(encoder)
        assert encoder.to_json()["kind"] == "modalities"
        assert copy == encoder
        assert copy.layout == encoder.layout
        assert copy.pictures == encoder.pictures
        assert copy.warnings == encoder.warnings
        assert torch.equal(copy.transform(source.views), inputs)


def test_new_data() -> None:
    views = dict(load_modalities(arrays(), "y").views)
    encoder, inputs = everything(views)
    fewer = {"more": np.zeros(3), "age": views["age"], "sound": views["sound"]}
    found = encoder.transform(fewer, np.array([5, 1]))
    assert encoder.layout.present(found, 1).tolist() == [0.0, 0.0]
    assert not found[:, encoder.layout.values(1)].any()
    for number in (0, 3):
        columns = encoder.layout.values(number)
        assert torch.equal(found[:, columns], inputs[[5, 1], columns])
    notes = encoder.unfamiliar(fewer)
    assert [note for note in notes if "'photo'" in note or "'words'" in note] == notes
    assert len(notes) == 2
    with pytest.raises(DataError, match=r"none of the modalities sound, photo.*found: more"):
        encoder.transform({"more": np.zeros(3)})
    with pytest.raises(DataError, match=r"'sound' must be \[n, 4\] .*got \[n, 3\]"):
        encoder.transform({"sound": np.zeros((2, 3))})
    with pytest.raises(DataError, match=r"'photo' must be pictures \[n, 3, 5, 6\].*\[2, 5, 6\]"):
        encoder.transform({"photo": np.zeros((2, 5, 6))})
    with pytest.raises(DataError, match=r"'words' must be text \[n\].*got float64 \[2\]"):
        encoder.transform({"words": np.zeros(2)})
    with pytest.raises(DataError, match="'sound' holds values of type"):
        encoder.transform({"sound": np.array([["a"] * 4])})
    with pytest.raises(DataError, match="'age' has 2 where the others have 3"):
        encoder.transform({**fewer, "sound": np.zeros((3, 4)), "age": np.zeros(2), "words": NEW})


NEW = pd.Series(["red"] * 3, dtype=object)


def test_a_modality_must_be_in_a_train_row() -> None:
    values = np.full((N, 2), np.nan)
    values[50:] = 1
    with pytest.raises(DataError, match="no train row has the modality 'v'"):
        ModalityEncoder.fit({"v": values}, np.arange(50))
    with pytest.raises(DataError, match="no modality to learn from"):
        ModalityEncoder.fit({}, np.arange(50))
    constant = pd.DataFrame({"a": ["x"] * N})
    with pytest.raises(DataError, match="modality 't': no column is left to learn from"):
        ModalityEncoder.fit({"t": constant}, np.arange(N))


def test_parts() -> None:
    source = load_modalities(arrays(), "y")
    outline = outline_modalities(source, seed=0)
    bundle = encode_modalities(source, outline, words=8)
    assert (len(bundle.train), len(bundle.valid), len(bundle.test)) == (36, 12, 12)
    assert "3 distinct whole numbers, taken as classes" in outline.notes[0]
    assert bundle.encoder == ModalityEncoder.fit(source.views, outline.split.train, words=8)
    rows = (outline.split.train, outline.split.valid, outline.split.test)
    for part, own in zip((bundle.train, bundle.valid, bundle.test), rows, strict=True):
        assert torch.bincount(part.target).unique().numel() == 1
        assert part.target.tolist() == (own % 3).tolist()
        assert torch.equal(part.inputs, bundle.encoder.transform(source.views, own))
    assert outline_modalities(source, seed=0, kind="classification").notes == ()
    assert outline_modalities(source, seed=0, kind="regression").task.kind == "regression"
    weighed = outline_modalities(source, seed=0, class_weight="balanced")
    weights = encode_modalities(source, weighed).train.weights
    assert weights is not None
    np.testing.assert_allclose(weights, 1.0, rtol=1e-5)
    with pytest.raises(DataError, match="one value a row, not several labels"):
        outline_modalities(source, seed=0, kind="multilabel")


def test_official_test_rows() -> None:
    source = load_modalities({**arrays(), "test": np.arange(N) >= 48}, "y")
    split = outline_modalities(source, seed=0).split
    assert split.test.tolist() == list(range(48, N))
    assert (len(split.train), len(split.valid)) == (36, 12)
    assert sorted([*split.train, *split.valid, *split.test]) == list(range(N))
    assert np.bincount(split.valid % 3).tolist() == [4, 4, 4]
    only = replace(source, target=pd.Series([0, 1] * 24 + [2] * 12, name="y"))
    with pytest.raises(DataError, match="classes without train rows: 2"):
        outline_modalities(only, seed=0)
    with pytest.raises(DataError, match="5 rows besides those kept for testing"):
        outline_modalities(replace(source, test=np.arange(N) >= 5), seed=0)


def test_numbers_are_scaled_by_the_train_rows() -> None:
    data = {**arrays(), "y": np.random.default_rng(0).normal(5, 2, N)}
    source = load_modalities(data, "y")
    outline = outline_modalities(source, seed=3)
    assert outline.task.kind == "regression"
    assert outline.task.mean == pytest.approx(data["y"][outline.split.train].mean())
    bundle = encode_modalities(source, outline)
    assert float(bundle.train.target.mean()) == pytest.approx(0, abs=1e-6)


LABELS = (np.arange(N)[:, None] % np.array([2, 3, 4]) == 0).astype(int)
NAMES = np.array(["even", "third", "fourth"])


def rows_of_labels() -> list[list[str]]:
    return [[str(name) for name in NAMES[row == 1]] for row in LABELS]


def test_several_labels_in_an_array(tmp_path: Path) -> None:
    path = save(tmp_path, **{**arrays(), "y": LABELS, "y_names": NAMES})
    source = load_modalities(path, "y")
    assert list(source.views) == ["sound", "photo", "words", "age"]
    outline = outline_modalities(source, seed=0)
    assert outline.task.kind == "multilabel"
    assert outline.task.target == "y"
    assert outline.task.classes == ("even", "third", "fourth")
    bundle = encode_modalities(source, outline)
    assert (len(bundle.train), len(bundle.valid), len(bundle.test)) == (36, 12, 12)
    assert bundle.train.target.dtype == torch.float32
    assert bundle.train.target.tolist() == LABELS[outline.split.train].tolist()
    unnamed = load_modalities({**arrays(), "y": LABELS}, "y")
    assert unnamed.target.columns.tolist() == ["0", "1", "2"]
    with pytest.raises(DataError, match="several labels a row, which is neither"):
        outline_modalities(source, seed=0, kind="classification")
    with pytest.raises(DataError, match="class_weight weighs classes"):
        outline_modalities(source, seed=0, class_weight="balanced")
    gaps = LABELS.astype(float)
    gaps[4, 1] = np.nan
    fewer = load_modalities({**arrays(), "y": gaps}, "y")
    assert fewer.notes == ("1 of 60 rows without a target are left out",)
    np.testing.assert_array_equal(fewer.target, np.delete(LABELS, 4, axis=0))
    lists = load_modalities({**arrays(), "y": rows_of_labels()}, "y")
    assert lists.target.columns.tolist() == sorted(NAMES)
    np.testing.assert_array_equal(lists.target[NAMES], LABELS)
    kept = load_modalities({**arrays(), "y": LABELS, "test": np.arange(N) >= 48}, "y")
    split = outline_modalities(kept, seed=0).split
    assert split.test.tolist() == list(range(48, N))
    assert (len(split.train), len(split.valid)) == (36, 12)


def test_several_labels_in_a_column(tmp_path: Path) -> None:
    lists: list[list[str] | None] = [*rows_of_labels()]
    lists[0] = None
    frame = table().assign(tags=lists)
    frame.to_parquet(tmp_path / "t.parquet")
    joined = [None if row is None else "|".join(row) or "none" for row in lists]
    table().assign(tags=joined).to_csv(tmp_path / "t.csv", index=False)
    wanted = pd.DataFrame(LABELS, columns=NAMES)[sorted(NAMES)].iloc[1:].to_numpy()
    for data in (frame, tmp_path / "t.parquet"):
        source = load_modalities(data, "tags")
        assert source.notes == ("1 of 60 rows without a target are left out",)
        assert source.target.columns.tolist() == ["even", "fourth", "third"]
        np.testing.assert_array_equal(source.target, wanted)
    source = load_modalities(tmp_path / "t.csv", "tags")
    assert source.target.columns.tolist() == ["even", "fourth", "none", "third"]
    np.testing.assert_array_equal(source.target[["even", "fourth", "third"]], wanted)
    task = outline_modalities(source, seed=0).task
    assert torch.equal(
        task.encode(pd.Series(joined[1:])), torch.tensor(source.target.to_numpy().tolist()).float()
    )


def test_a_bar_in_a_few_rows_makes_no_labels() -> None:
    names = ["a", "b"] * 30
    names[:3] = ["a|b"] * 3
    source = load_modalities(table().assign(kind=names), "kind")
    assert isinstance(source.target, pd.Series)
    assert outline_modalities(source, seed=0).task.classes == ("a", "a|b", "b")


@pytest.mark.parametrize(
    ("target", "names", "words"),
    [
        (LABELS * 2, None, "holds 2, but several labels a row are 0 and 1"),
        (np.zeros((N, 2, 2)), None, r"float64 \[60, 2, 2\]; give one value a row"),
        (LABELS, NAMES[:2], "'y_names' has 2 different names for 3 labels"),
    ],
)
def test_labels_that_cannot_be_read(
    target: np.ndarray, names: np.ndarray | None, words: str
) -> None:
    named = {} if names is None else {"y_names": names}
    with pytest.raises(DataError, match=words):
        load_modalities({**arrays(), "y": target, **named}, "y")


def test_labels_worth_a_note() -> None:
    one = np.eye(3, dtype=int)[np.arange(N) % 3]
    notes = outline_modalities(load_modalities({**arrays(), "y": one}, "y"), seed=0).notes
    assert len(notes) == 1
    assert "every row has exactly one label of 'y'" in notes[0]
    rare = np.column_stack([LABELS, np.arange(N) == 7]).astype(int)
    notes = outline_modalities(load_modalities({**arrays(), "y": rare}, "y"), seed=0).notes
    assert len(notes) == 1
    assert "fewer than 3 rows can hardly be learned: 3" in notes[0]
    column = load_modalities({**arrays(), "y": (np.arange(N) % 2)[:, None]}, "y")
    assert outline_modalities(column, seed=0).task.kind == "binary"
