from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.images.idx_files import read_idx_images
from meritnas.data.images.source import is_image_data, load_images
from meritnas.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (15, 5, 4)).astype(np.uint8)
LABELS = (np.arange(15) % 3).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    shape = np.array(array.shape, dtype=">u4").tobytes()
    return bytes((0, 0, 8, array.ndim)) + shape + array.tobytes()


def write(folder: Path, part: str, rows: slice, gz: bool = False) -> None:
    for kind, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS)):
        path = folder / f"{part}-{kind}-ubyte{'.gz' if gz else ''}"
        content = idx(array[rows])
        path.write_bytes(gzip.compress(content) if gz else content)


@pytest.mark.parametrize("gz", [False, True])
def test_folder(tmp_path: Path, gz: bool) -> None:
    write(tmp_path, "train", slice(0, 12), gz)
    write(tmp_path, "t10k", slice(12, 15), gz)
    source = load_images(tmp_path)
    assert is_image_data(tmp_path)
    assert np.array_equal(source.images[..., 0], IMAGES)
    assert source.labels.tolist() == LABELS.tolist()
    assert source.test is not None
    assert source.test.tolist() == [False] * 12 + [True] * 3


def test_one_file(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(0, 12), gz=True)
    write(tmp_path, "t10k", slice(12, 15))
    path = tmp_path / "train-images-idx3-ubyte.gz"
    source = load_images(str(path))
    assert is_image_data(path)
    assert (source.name, source.test) == ("train-images-idx3-ubyte", None)
    assert source.labels.tolist() == LABELS[:12].tolist()
    assert load_images(path, size=8).images.shape == (12, 8, 8, 1)
    with pytest.raises(DataError, match="holds labels; name the file of the images"):
        load_images(tmp_path / "t10k-labels-idx1-ubyte")


def test_unpacked_files_win(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(0, 12))
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"left over")
    assert len(load_images(tmp_path).images) == 12


def test_names_with_dots(tmp_path: Path) -> None:
    (tmp_path / "train-images.idx3-ubyte").write_bytes(idx(IMAGES))
    (tmp_path / "train-labels.idx1-ubyte").write_bytes(idx(LABELS))
    assert load_images(tmp_path).images.shape == (15, 5, 4, 1)


def test_no_labels(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(None))
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="has images but no labels"):
        load_images(tmp_path)


def test_labels_of_other_images(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(None))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:14]))
    with pytest.raises(DataError, match=r"labels-idx1-ubyte has 14 labels for 15 images"):
        load_images(tmp_path)


def test_several_data_sets(tmp_path: Path) -> None:
    write(tmp_path, "letters-train", slice(None))
    write(tmp_path, "digits-train", slice(None))
    with pytest.raises(DataError, match=r"several data sets: digits-train-images.*name one of"):
        load_images(tmp_path)


def test_parts_of_different_sizes(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(None))
    write(tmp_path, "test", slice(None))
    (tmp_path / "test-images-idx3-ubyte").write_bytes(idx(IMAGES[:, 1:]))
    with pytest.raises(DataError, match=r"are \[5, 4\] and test images \[4, 4\]"):
        load_images(tmp_path)


def test_cut_off_file(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(None))
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(idx(IMAGES)[:-7])
    with pytest.raises(
        DataError, match=r"images-idx3-ubyte says it holds 15 x 5 x 4 = 300 bytes but has 293"
    ):
        load_images(tmp_path)
    path.write_bytes(idx(IMAGES)[:9])
    with pytest.raises(DataError, match="ends within its header"):
        load_images(tmp_path)
    path.write_bytes(gzip.compress(idx(IMAGES))[:-12])
    with pytest.raises(DataError, match="images-idx3-ubyte is not a whole gzip file"):
        load_images(tmp_path)


def test_wrong_magic(tmp_path: Path) -> None:
    write(tmp_path, "train", slice(None))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(LABELS))
    with pytest.raises(
        DataError, match=r"begins with the bytes 00 00 08 01, but a file of images .* 00 00 08 03"
    ):
        load_images(tmp_path)


@given(st.binary(max_size=60), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, magic: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-images-idx3"
    path.write_bytes(bytes((0, 0, 8, 3)) + content if magic else content)
    with suppress(DataError):
        assert read_idx_images(path).images.ndim == 4
