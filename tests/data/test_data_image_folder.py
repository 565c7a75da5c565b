from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from meritnas.data.images.folder import read_image_folder
from meritnas.data.images.source import is_image_data, load_images
from meritnas.data.pictures.picture import picture_size, read_picture
from meritnas.errors import DataError, UsageError

GREY = (10, 200)


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


def plain(value: int | tuple[int, ...], height: int = 8, width: int = 8) -> np.ndarray:
    return np.full((height, width, 3), value, dtype=np.uint8)


def make_classes(folder: Path, each: int = 6, size: int = 8) -> Path:
    for label, value in zip(("cat", "dog"), GREY, strict=True):
        for place in range(each):
            pixels = np.full((size, size), value + place, dtype=np.uint8)
            save(folder / label / f"{place}.png", pixels)
    return folder


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    folder = make_classes(tmp_path / "pets")
    source = load_images(folder)
    assert is_image_data(folder)
    assert (source.name, source.location) == ("pets", str(folder.resolve()))
    assert source.images.shape == (12, 8, 8, 1)
    assert source.images.dtype == np.uint8
    assert source.images[:, 0, 0, 0].tolist() == [*range(10, 16), *range(200, 206)]
    assert source.labels.name == "label"
    assert source.labels.tolist() == ["cat"] * 6 + ["dog"] * 6
    assert source.test is None
    assert source.notes == ()


def test_pictures_may_lie_deeper_and_have_any_format(tmp_path: Path) -> None:
    folder = make_classes(tmp_path)
    for ending in ("jpg", "JPEG", "bmp", "gif", "webp", "tif"):
        save(folder / "cat" / "more" / f"a.{ending}", np.full((8, 8), 90, dtype=np.uint8))
    images = load_images(folder).images
    assert images.shape == (18, 8, 8, 1)
    assert np.abs(images[6:12].astype(int) - 90).max() <= 2


def test_one_coloured_picture_makes_all_coloured(tmp_path: Path) -> None:
    folder = make_classes(tmp_path)
    save(folder / "cat" / "0.png", plain((9, 9, 9)))
    assert load_images(folder).images.shape[3] == 1
    save(folder / "dog" / "3.png", plain((1, 2, 3)))
    images = load_images(folder).images
    assert images.shape == (12, 8, 8, 3)
    assert images[9, 0, 0].tolist() == [1, 2, 3]
    assert images[1, 0, 0].tolist() == [11, 11, 11]
    assert images[11, 0, 0].tolist() == [205, 205, 205]


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 4), dtype=np.uint8)
    pixels[:4, :, 3] = 255
    seen = read_picture(save(tmp_path / "a.png", pixels), "a", (8, 8))
    assert (seen[:4] == 0).all()
    assert (seen[4:] == 255).all()
    palette = Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).convert("P")
    palette.save(tmp_path / "p.png", transparency=0)
    assert (read_picture(tmp_path / "p.png", "p", (8, 8)) == 255).all()


def test_orientation_is_respected(tmp_path: Path) -> None:
    pixels = np.zeros((4, 8), dtype=np.uint8)
    pixels[:, :4] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    path = save(tmp_path / "a.png", pixels, exif=exif)
    assert picture_size(path, "a") == (8, 4)
    seen = read_picture(path, "a", (8, 4))
    assert (seen[:4] == 255).all()
    assert (seen[4:] == 0).all()


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    pixels = (np.arange(64, dtype=np.uint16).reshape(8, 8)) * 1000
    seen = read_picture(save(tmp_path / "a.png", pixels), "a", (8, 8))
    assert np.array_equal(seen[..., 0], np.rint(pixels / 257).astype(np.uint8))


def test_fractions_as_pixels(tmp_path: Path) -> None:
    path = save(tmp_path / "a.tif", np.zeros((8, 8), dtype=np.float32))
    with pytest.raises(DataError, match=r"a\.tif holds fractions .* 8 or 16 bits"):
        read_picture(path, str(path), (8, 8))


def test_pictures_beyond_sixteen_bits(tmp_path: Path) -> None:
    path = save(tmp_path / "a.tif", np.full((8, 8), 70_000, dtype=np.int32))
    with pytest.raises(DataError, match=r"pixels from 70000 to 70000; save it with 8 or 16 bits"):
        read_picture(path, str(path), (8, 8))


def test_first_frame_counts(tmp_path: Path) -> None:
    first, second = (Image.fromarray(np.full((8, 8), v, dtype=np.uint8)) for v in (30, 60))
    first.save(tmp_path / "a.gif", save_all=True, append_images=[second])
    assert (read_picture(tmp_path / "a.gif", "a", (8, 8)) == 30).all()


def test_aspect_is_kept_by_cutting_both_ends(tmp_path: Path) -> None:
    pixels = np.zeros((8, 32), dtype=np.uint8)
    pixels[:, 8:24] = 255
    seen = read_picture(save(tmp_path / "a.png", pixels), "a", (4, 8))
    assert (seen[:, 1:-1] == 255).all()
    assert (seen > 200).all()  # the filter sees a little of what is cut off


def test_large_jpegs_are_scaled_down_well(tmp_path: Path) -> None:
    rows = np.repeat(np.linspace(0, 255, 800).astype(np.uint8)[:, None], 1200, axis=1)
    seen = read_picture(save(tmp_path / "a.jpg", rows, quality=95), "a", (16, 16))
    assert np.abs(seen[:, 8, 0] - np.linspace(8, 247, 16)).max() < 3


def test_different_sizes_become_the_most_common_one(tmp_path: Path) -> None:
    folder = make_classes(tmp_path)
    save(folder / "dog" / "large.png", plain(7, 30, 20))
    source = load_images(folder)
    assert source.images.shape == (13, 8, 8, 1)
    assert source.notes == (
        "pictures of 2 sizes are resized to 8 x 8 (height x width), their most common size; "
        "for another size: --image-size",
    )


def test_large_pictures_become_at_most_64_pixels(tmp_path: Path) -> None:
    for label in ("a", "b"):
        for place in range(5):
            save(tmp_path / label / f"{place}.png", plain(place, 60, 120))
    source = load_images(tmp_path)
    assert source.images.shape == (10, 32, 64, 1)
    assert source.notes[0].startswith(
        "pictures of 60 x 120 pixels are resized to 32 x 64 (height x width), at most 64 pixels"
    )
    asked = load_images(tmp_path, size=(60, 120))
    assert asked.images.shape == (10, 60, 120, 1)
    assert asked.notes == ()
    assert load_images(tmp_path, size=20).images.shape == (10, 20, 20, 1)


@pytest.mark.parametrize("size", [3, (8, 2), 8.5, "8"])
def test_strange_sizes(tmp_path: Path, size: int) -> None:
    with pytest.raises(UsageError, match="image_size must be"):
        load_images(make_classes(tmp_path), size=size)


def test_other_files_are_left_out_with_a_note(tmp_path: Path) -> None:
    folder = make_classes(tmp_path)
    for name in ("cat/.DS_Store", "cat/notes.txt", "dog/Thumbs.db", "README.md", "cat/._0.png"):
        (folder / name).write_text("x")
    save(folder / "stray.png", plain(1))
    (folder / "bird").mkdir()
    (folder / ".git").mkdir()
    source = load_images(folder)
    assert len(source.images) == 12
    assert source.notes == (
        "class folders without pictures are left out: bird",
        "files left out: 1 .db, 1 .md, 1 .txt, 2 hidden, 1 pictures outside of class folders",
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"no picture at all", b"\x89PNG\r\n\x1a\n", b"GIF89a"],
    ids=["empty", "text", "png", "gif"],
)
@pytest.mark.parametrize("size", [None, 8])
def test_damaged_pictures_are_named(tmp_path: Path, content: bytes, size: int | None) -> None:
    folder = make_classes(tmp_path)
    (folder / "cat" / "bad.png").write_bytes(content)
    with pytest.raises(
        DataError, match=r"cat/bad\.png is damaged or no picture.*remove or replace this file"
    ):
        load_images(folder, size)


def test_damaged_pictures_are_skipped_and_named_where_that_is_asked_for(tmp_path: Path) -> None:
    folder = make_classes(tmp_path)
    whole = load_images(folder)
    (folder / "cat" / "bad.png").write_bytes(b"no picture at all")
    noise = np.random.default_rng(0).integers(0, 256, (40, 40)).astype(np.uint8)
    cut = save(folder / "dog" / "cut.png", noise)
    cut.write_bytes(cut.read_bytes()[:-30])
    with pytest.raises(DataError, match="--skip-bad-rows leaves out all that are damaged"):
        load_images(folder)
    rest = load_images(folder, skip_bad_rows=True)
    assert rest.fingerprint == whole.fingerprint
    assert "damaged pictures left out: cat/bad.png, dog/cut.png" in rest.notes


def test_cut_off_pictures_are_named(tmp_path: Path) -> None:
    folder = make_classes(tmp_path, size=40)
    noise = np.random.default_rng(0).integers(0, 256, (40, 40)).astype(np.uint8)
    path = save(folder / "dog" / "cut.png", noise)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"dog/cut\.png is damaged"):
        load_images(folder)


def test_official_parts(tmp_path: Path) -> None:
    make_classes(tmp_path / "train")
    make_classes(tmp_path / "Test", each=2)
    source = load_images(tmp_path)
    assert source.test is not None
    assert source.test.sum() == 4
    assert source.images[source.test][:, 0, 0, 0].tolist() == [10, 11, 200, 201]
    assert source.labels[source.test].tolist() == ["cat", "cat", "dog", "dog"]
    assert source.notes == ()
    make_classes(tmp_path / "valid", each=3)
    joined = load_images(tmp_path)
    assert joined.test is not None
    assert (len(joined.images), joined.test.sum()) == (22, 4)
    assert joined.notes == ("the data's own validation images are joined to its train images",)


def test_validation_images_are_for_testing_where_there_are_no_others(tmp_path: Path) -> None:
    make_classes(tmp_path / "train")
    make_classes(tmp_path / "val", each=2)
    source = load_images(tmp_path)
    assert source.test is not None
    assert source.test.sum() == 4
    assert source.notes == ("the data's own validation images are kept for testing",)


def test_a_train_part_alone(tmp_path: Path) -> None:
    make_classes(tmp_path / "train")
    source = load_images(tmp_path)
    assert source.test is None
    assert set(source.labels) == {"cat", "dog"}


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    folder = make_classes(tmp_path)
    (folder / "cat").rename(folder / "train")
    assert set(load_images(folder).labels) == {"dog", "train"}
    (folder / "dog").rename(folder / "test")
    assert set(load_images(folder).labels) == {"test", "train"}


def test_classes_without_train_images(tmp_path: Path) -> None:
    make_classes(tmp_path / "train")
    make_classes(tmp_path / "test", each=2)
    (tmp_path / "test" / "dog").rename(tmp_path / "test" / "wolf")
    with pytest.raises(DataError, match="test images of classes without train images: wolf; add"):
        load_images(tmp_path)
    (tmp_path / "test" / "wolf").rename(tmp_path / "away")
    for path in (tmp_path / "away").iterdir():
        path.unlink()
    (tmp_path / "away").rmdir()
    assert load_images(tmp_path).notes == ("there are no test images of: dog",)


def test_other_layouts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no pictures in sub-folders; .*there is: nothing"):
        read_image_folder(tmp_path, None)
    assert not is_image_data(tmp_path)
    save(tmp_path / "a.png", plain(1))
    assert is_image_data(tmp_path)
    with pytest.raises(
        DataError,
        match=r"put the pictures of each class into a folder .*data/cat/1\.png.*there is: a\.png",
    ):
        load_images(tmp_path)
    with pytest.raises(DataError, match=r"a\.png is one picture; put the pictures of each class"):
        load_images(tmp_path / "a.png")


def test_few_images_or_classes(tmp_path: Path) -> None:
    folder = make_classes(tmp_path, each=4)
    with pytest.raises(DataError, match="has 8 images, too few to learn from; give at least 10"):
        load_images(folder)
    make_classes(folder, each=10)
    for path in (folder / "dog").iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"of the one class 'cat'; .* at least 2 classes"):
        load_images(folder)
