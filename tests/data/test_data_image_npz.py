from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from meritnas.data.images.source import is_image_data, load_images
from meritnas.errors import DataError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 5, 6, 3)).astype(np.uint8)
LABELS = np.arange(12) % 3


def save(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def file_bytes(images: np.ndarray, kind: str = "png") -> tuple[np.ndarray, np.ndarray]:
    pieces = []
    for image in images:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, kind)
        pieces.append(buffer.getvalue())
    offsets = np.cumsum([0, *map(len, pieces)])
    return np.frombuffer(b"".join(pieces), np.uint8), offsets


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("images", "labels"),
        ("x", "y"),
        ("X", "y"),
        ("data", "target"),
        ("image", "label"),
        ("x_train", "y_train"),
        ("train_images", "train_labels"),
        ("trainX", "trainY"),
    ],
)
def test_names(tmp_path: Path, images: str, labels: str) -> None:
    path = save(tmp_path / "pets.v1.npz", **{images: IMAGES, labels: LABELS})
    source = load_images(str(path))
    assert is_image_data(path)
    assert (source.name, source.location) == ("pets.v1", str(path.resolve()))
    assert np.array_equal(source.images, IMAGES)
    assert source.labels.tolist() == LABELS.tolist()
    assert source.labels.name == "label"
    assert source.test is None
    assert source.notes == ()


@pytest.mark.parametrize(
    "names",
    [
        ("x_train", "y_train", "x_test", "y_test"),
        ("train_images", "train_labels", "test_images", "test_labels"),
        ("X", "y", "X_test", "y_test"),
    ],
)
def test_official_parts(tmp_path: Path, names: tuple[str, ...]) -> None:
    values = (IMAGES[:10], LABELS[:10], IMAGES[10:], LABELS[10:])
    path = save(tmp_path / "a.npz", **dict(zip(names, values, strict=True)))
    source = load_images(path)
    assert np.array_equal(source.images, IMAGES)
    assert source.test is not None
    assert source.test.tolist() == [False] * 10 + [True] * 2
    assert source.labels.tolist() == LABELS.tolist()
    notes = load_images(path).notes
    assert notes == ("there are no test images of: 0",)


def test_three_official_parts(tmp_path: Path) -> None:
    arrays = {f"{part}_images": IMAGES for part in ("train", "val", "test")}
    labels = {f"{part}_labels": LABELS[:, None] for part in ("train", "val", "test")}
    source = load_images(save(tmp_path / "a.npz", **arrays, **labels))
    assert source.test is not None
    assert source.test.tolist() == [False] * 24 + [True] * 12
    assert source.notes == ("the data's own validation images are joined to its train images",)


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_bytes_of_files(tmp_path: Path, kind: str) -> None:
    smooth = np.repeat(np.linspace(0, 250, 12).astype(np.uint8), 64 * 3).reshape(12, 8, 8, 3)
    train, test = file_bytes(smooth[:10], kind), file_bytes(smooth[10:], kind)
    path = save(
        tmp_path / "a.npz",
        **{f"train_{kind}_bytes": train[0], f"test_{kind}_bytes": test[0]},
        train_offsets=train[1],
        test_offsets=test[1],
        train_labels=LABELS[:10].astype(np.uint8),
        test_labels=LABELS[10:].astype(np.uint8),
        classes=np.array(["cat", "dog", "owl"]),
    )
    source = load_images(path)
    assert source.images.shape == (12, 8, 8, 1)
    assert np.abs(source.images[..., 0].astype(int) - smooth[..., 0]).max() <= 2
    assert source.labels.tolist() == [("cat", "dog", "owl")[label] for label in LABELS]
    assert source.test is not None
    assert source.test.sum() == 2
    assert load_images(path, size=16).images.shape == (12, 16, 16, 1)


def test_bytes_of_a_damaged_file(tmp_path: Path) -> None:
    content, offsets = file_bytes(IMAGES)
    broken = content.copy()
    broken[offsets[3] : offsets[4]] = 0
    path = save(tmp_path / "a.npz", png_bytes=broken, offsets=offsets, labels=LABELS)
    with pytest.raises(DataError, match=r"image 3 of 'png_bytes' in .*a\.npz is damaged"):
        load_images(path)


@pytest.mark.parametrize(
    "offsets", [[0], [0, 5, 3], [0, 10**9], [-1, 4], [0.0, 4.0]], ids=lambda value: str(value)
)
def test_strange_offsets(tmp_path: Path, offsets: list[float]) -> None:
    content, _ = file_bytes(IMAGES)
    path = save(tmp_path / "a.npz", bytes=content, offsets=np.array(offsets), labels=LABELS)
    with pytest.raises(DataError, match=r"'offsets' rising whole numbers \[n \+ 1\] up to at most"):
        load_images(path)


def test_text_labels_and_class_names(tmp_path: Path) -> None:
    text = np.array(["a", "b", "c"])[LABELS]
    assert load_images(save(tmp_path / "a.npz", x=IMAGES, y=text)).labels.tolist() == text.tolist()
    raw = text.astype("S")
    assert load_images(save(tmp_path / "b.npz", x=IMAGES, y=raw)).labels.tolist() == text.tolist()
    names = np.array([b"one", b"two", b"three"])
    named = load_images(save(tmp_path / "c.npz", x=IMAGES, y=LABELS, class_names=names))
    assert set(named.labels) == {"one", "two", "three"}
    with pytest.raises(DataError, match=r"labels from 0 to 2 but 2 class names.* from 0 to 1"):
        load_images(save(tmp_path / "d.npz", x=IMAGES, y=LABELS, classes=names[:2]))
    with pytest.raises(DataError, match="class names that occur twice"):
        load_images(save(tmp_path / "e.npz", x=IMAGES, y=LABELS, classes=names[[0, 0, 1]]))


def test_object_arrays_are_not_unpickled(tmp_path: Path) -> None:
    labels = np.array(LABELS.tolist(), dtype=object)
    path = save(tmp_path / "a.npz", images=IMAGES, labels=labels)
    with pytest.raises(DataError, match=r"'labels' of .*a\.npz holds Python objects.*plain arrays"):
        load_images(path)


def test_names_that_nobody_knows(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", spec=IMAGES, who=LABELS)
    with pytest.raises(DataError, match="there is: spec, who; expected: images and labels, x and"):
        load_images(path)


def test_no_labels(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has images but no labels"):
        load_images(save(tmp_path / "a.npz", images=IMAGES))
    path = save(tmp_path / "b.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES)
    with pytest.raises(DataError, match="no labels for 'x_test'; expected"):
        load_images(path)


def test_parts_of_different_shapes(tmp_path: Path) -> None:
    path = save(
        tmp_path / "a.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES[:, 1:], y_test=LABELS
    )
    with pytest.raises(DataError, match=r"'x_train' \[12, 5, 6, 3\], 'x_test' \[12, 4, 6, 3\]"):
        load_images(path)


def test_the_scale_is_found_over_all_parts(tmp_path: Path) -> None:
    bright = IMAGES.astype(np.float32)
    dark = np.ones_like(bright)
    path = save(tmp_path / "a.npz", x_train=bright, y_train=LABELS, x_test=dark, y_test=LABELS)
    source = load_images(path)
    assert (source.images[12:] == 1).all()
    assert source.notes == (
        "the values of 'x_train' and 'x_test' of a.npz are rounded to whole numbers 0..255",
    )


def test_damaged_files(tmp_path: Path) -> None:
    whole = save(tmp_path / "a.npz", x=IMAGES, y=LABELS).read_bytes()
    (tmp_path / "b.npz").write_bytes(whole[:300])
    with pytest.raises(DataError, match=r"b\.npz is damaged .*save or copy it again"):
        load_images(tmp_path / "b.npz")
    flipped = bytearray(whole)
    flipped[400] ^= 255
    (tmp_path / "c.npz").write_bytes(bytes(flipped))
    with pytest.raises(DataError, match=r"'x' of .*c\.npz is damaged"):
        load_images(tmp_path / "c.npz")
    for content in (b"", b"text", b"\x80\x04K\x01."):
        (tmp_path / "d.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"d\.npz is damaged or not made by numpy\.savez"):
            load_images(tmp_path / "d.npz")
    with (tmp_path / "f.npz").open("wb") as file:
        np.save(file, IMAGES)
    with pytest.raises(DataError, match=r"f\.npz is damaged or not made by numpy\.savez"):
        load_images(tmp_path / "f.npz")
    with pytest.raises(DataError, match=r"has the shape \[1\]"):
        load_images(save(tmp_path / "g.npz", x=np.array(3), y=LABELS))
    with zipfile.ZipFile(tmp_path / "e.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(DataError, match=r"no images under a known name; there is: readme\.txt"):
        load_images(tmp_path / "e.npz")
