from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from meritnas.data.kinds import kind_named
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.new_samples import load_views
from meritnas.data.modalities.picture_columns import WantedPictures
from meritnas.data.modalities.reading import ModalityReading
from meritnas.data.modalities.source import ModalitySource, load_modalities
from meritnas.data.pictures.names import names_pictures
from meritnas.data.pictures.read_named import picture_path, read_named
from meritnas.errors import DataError

ROWS = 40
SKIP = WantedPictures(skip_bad=True)


def pixels(row: int, side: int = 8) -> np.ndarray:
    rng = np.random.default_rng(row)
    return rng.integers(256, size=(side, side + 2, 3)).astype(np.uint8)


def write_pictures(folder: Path, rows: int = ROWS) -> pd.DataFrame:
    """A table of pictures, texts, numbers and classes; every picture but one is 8 x 10."""
    (folder / "img").mkdir()
    for row in range(rows):
        Image.fromarray(pixels(row, 20 if row == 1 else 8)).save(folder / "img" / f"{row}.png")
    words = ["this one is round and red", "that one is flat and blue indeed"]
    return pd.DataFrame(
        {
            "photo": [f"img/{row}.png" for row in range(rows)],
            "said": [f"{words[row % 2]} {row}" for row in range(rows)],
            "age": np.arange(rows) * 1.5,
            "kind": np.where(np.arange(rows) % 2, "a", "b"),
        }
    )


@pytest.fixture
def frame(tmp_path: Path) -> pd.DataFrame:
    return write_pictures(tmp_path)


def encoded(source: ModalitySource) -> tuple[ModalityEncoder, torch.Tensor]:
    bundle = encode_modalities(source, outline_modalities(source, 0))
    again = ModalityEncoder.from_json(bundle.encoder.to_json())
    assert again == bundle.encoder
    return again, again.transform(source.views)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_a_file_leads_from_its_folder(
    frame: pd.DataFrame, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    path = tmp_path / f"shop.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    source = load_modalities(path, "kind")
    assert list(source.views) == ["photo", "said", "table"]
    assert "pictures of 2 sizes are resized to 8 x 10" in " ".join(source.notes)
    encoder, inputs = encoded(source)
    assert encoder.named_pictures == {"photo": (3, 8, 10)}
    assert encoder.columns["photo"] == ("photo",)
    part = inputs[0, encoder.layout.values(0)].reshape(3, 8, 10)
    torch.testing.assert_close(part * 255, torch.from_numpy(pixels(0)).permute(2, 0, 1).float())
    views = load_views(path, encoder.columns, encoder.named_pictures)
    assert torch.equal(encoder.transform(views), inputs)


def test_a_frame_is_taken_as_it_is(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    near, near_inputs = encoded(load_modalities(frame, "kind"))
    far = frame.assign(photo=[str(tmp_path / name) for name in frame["photo"]])
    found, inputs = encoded(load_modalities(far, "kind"))
    assert found == near
    assert torch.equal(inputs, near_inputs)
    arrays = {**{name: frame[name].to_numpy() for name in ("photo", "kind")}, "age": frame["age"]}
    assert list(load_modalities(arrays, "kind", ["photo", "age"]).views) == ["photo", "age"]
    assert encoded(load_modalities(arrays, "kind"))[0].named_pictures == near.named_pictures


def test_pictures_are_part_of_the_fingerprint(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "shop.csv", index=False)
    before = load_modalities(tmp_path / "shop.csv", "kind").fingerprint
    assert load_modalities(tmp_path / "shop.csv", "kind").fingerprint == before
    Image.fromarray(pixels(99)).save(tmp_path / "img" / "3.png")
    assert load_modalities(tmp_path / "shop.csv", "kind").fingerprint != before


def test_a_size_that_is_asked_for(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "shop.csv", index=False)
    wanted = WantedPictures((6, 5))
    encoder, _ = encoded(load_modalities(tmp_path / "shop.csv", "kind", wanted=wanted))
    assert encoder.named_pictures == {"photo": (3, 6, 5)}
    with pytest.raises(DataError, match="image_size is for pictures that a column names"):
        load_modalities(frame[["age", "kind"]], "kind", wanted=wanted)
    assert ModalityReading(image_size=6).picture_size == (6, 6)
    again = ModalityReading.from_json(ModalityReading(image_size=(6, 5)).to_json() | {})
    assert again.picture_size == (6, 5)


def test_broken_and_missing_pictures_are_listed_and_may_be_skipped(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "img" / "2.png").write_bytes(b"no picture")
    (tmp_path / "img" / "5.png").unlink()
    frame.loc[7, "photo"] = "../img/7.png"
    frame.loc[9, "photo"] = None  # a row may lack a picture, which is no fault
    frame.to_csv(tmp_path / "shop.csv", index=False)
    with pytest.raises(DataError) as told:
        load_modalities(tmp_path / "shop.csv", "kind")
    text = str(told.value)
    assert "column 'photo': 3 of 39 pictures cannot be read: row 3 (" in text
    assert "2.png is damaged or no picture" in text
    assert "row 6 (no file " in text
    assert "row 8 ('../img/7.png' leads out of the table's folder)" in text
    assert "--skip-bad-rows" in text
    source = load_modalities(tmp_path / "shop.csv", "kind", wanted=SKIP)
    assert source.target.tolist() == frame["kind"].drop([2, 5, 7]).tolist()
    assert any("row 3 (" in note and "are left out" in note for note in source.notes)
    assert "of 37 rows, 1 have no 'photo'" in source.notes
    encoder, inputs = encoded(source)
    assert (inputs[:, encoder.layout.flag(0)] == 0).nonzero().tolist() == [[6]]


def test_new_rows_go_without_pictures_that_cannot_be_read(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.to_csv(tmp_path / "shop.csv", index=False)
    source = load_modalities(tmp_path / "shop.csv", "kind")
    bundle = encode_modalities(source, outline_modalities(source, 0))
    (tmp_path / "img" / "2.png").write_bytes(b"no picture")
    kind = kind_named("modalities")
    new = kind.read_new(str(tmp_path / "shop.csv"), bundle.encoder, bundle.task)
    (note,) = [each for each in new.notes if "photo" in each]
    assert "row 3 (" in note
    assert note.endswith("these rows go without 'photo'")
    before = bundle.encoder.transform(source.views)
    after = kind.new_inputs(bundle.encoder, new.data)
    whole = torch.arange(ROWS) != 2
    assert torch.equal(after[whole], before[whole])
    assert not after[2, : bundle.encoder.layout.values(0).stop].any()


def test_names_in_an_archive_lead_from_its_folder(frame: pd.DataFrame, tmp_path: Path) -> None:
    names, ages = frame["photo"].to_numpy(dtype=str), frame["age"].to_numpy()
    np.savez(tmp_path / "shop.npz", photo=names, age=ages, kind=frame["kind"].to_numpy(dtype=str))
    source = load_modalities(tmp_path / "shop.npz", "kind")
    bundle = encode_modalities(source, outline_modalities(source, 0))
    inputs = bundle.encoder.transform(source.views)
    kind = kind_named("modalities")
    (tmp_path / "img" / "2.png").unlink()
    new = kind.read_new(str(tmp_path / "shop.npz"), bundle.encoder, bundle.task)
    assert "row 3 (no file" in " ".join(new.notes)
    after = kind.new_inputs(bundle.encoder, new.data)
    assert (after != inputs).any(dim=1).nonzero().tolist() == [[2]]


def test_pictures_in_the_cells_of_a_frame(frame: pd.DataFrame, tmp_path: Path) -> None:
    small = frame.drop(index=1).reset_index(drop=True)
    cells = [np.asarray(Image.open(tmp_path / name)) for name in small["photo"]]
    inside = small.assign(photo=pd.Series([*cells[:-1], None], dtype=object))
    encoder, inputs = encoded(load_modalities(inside, "kind"))
    assert encoder.pictures == ("photo",)
    flags = inputs[:, encoder.layout.flag(encoder.layout.names.index("photo"))]
    assert flags.tolist() == [1.0] * 38 + [0.0]
    # A network that has learned from files reads cells, too.
    small.to_csv(tmp_path / "shop.csv", index=False)
    named, known = encoded(load_modalities(tmp_path / "shop.csv", "kind"))
    views = load_views(inside[:-1], named.columns, named.named_pictures)
    assert torch.equal(named.transform(views), known[:-1])


def test_pictures_are_a_modality_of_their_own(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "shop.csv", index=False)
    named = load_modalities(tmp_path / "shop.csv", "kind", {"look": "photo", "age": ["age"]})
    assert encoded(named)[0].columns == {"look": ("photo",), "age": ("age",)}
    with pytest.raises(DataError, match="modality 'all' has the column 'photo', which names pic"):
        load_modalities(tmp_path / "shop.csv", "kind", {"all": ["photo", "age"]})


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["a.jpg", "b/c.JPEG", None], True),
        (["a.jpg", "unknown", "-"], False),  # more than half are words for a missing one
        (["a.jpg", "b.png", "unknown"], True),
        (["a.jpg", "b.txt"], False),
        (["https://example.org/a.jpg"] * 3, False),
        ([1, 2], False),
        ([None, None], False),
        (["a dog", "a cat"], False),
    ],
)
def test_which_columns_name_pictures(cells: list[object], found: bool) -> None:
    assert names_pictures(pd.Series(cells, dtype=object)) is found


@given(st.text(max_size=20), st.sampled_from(["", "/", "..", "../", "a/../../", "C:\\", "./a/"]))
def test_no_name_in_a_file_leads_out_of_its_folder(text: str, before: str) -> None:
    folder = Path("/data/shop")
    try:
        found = picture_path(f"{before}{text}.png", folder)
    except DataError:
        return
    assert found.is_relative_to(folder)
    assert ".." not in found.parts


def test_greys_and_colours_are_brought_together(tmp_path: Path) -> None:
    Image.fromarray(pixels(0)[..., 0]).save(tmp_path / "grey.png")
    Image.fromarray(pixels(1)).save(tmp_path / "red.png")
    assert read_named("x", ["grey.png", ""], tmp_path).images.shape == (2, 8, 10, 1)
    both = read_named("x", ["grey.png", "red.png"], tmp_path)
    assert both.images.shape == (2, 8, 10, 3)
    np.testing.assert_array_equal(both.images[0], np.repeat(pixels(0)[..., :1], 3, axis=2))
    assert read_named("x", ["red.png"], tmp_path, (8, 10), 1).images.shape == (1, 8, 10, 1)
