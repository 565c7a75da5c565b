from __future__ import annotations

import io
import os
import pickle
import pickletools
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.images.array_pickle import read_array_pickle
from meritnas.data.images.source import is_image_data, load_images
from meritnas.errors import DataError

PLANES = np.random.default_rng(0).integers(0, 256, (12, 3072)).astype(np.uint8)
IMAGES = PLANES.reshape(12, 3, 32, 32).transpose(0, 2, 3, 1)
LABELS = np.arange(12) % 3
NAMES = ["airplane", "automobile", "bird"]


def write_binary(path: Path, rows: slice, coarse: bool = False) -> None:
    labels = LABELS[rows, None].astype(np.uint8)
    head = [np.full_like(labels, 19), labels] if coarse else [labels]
    np.concatenate([*head, PLANES[rows]], axis=1).tofile(path)


def write_pickle(path: Path, rows: slice, protocol: int = 2, labels: str = "labels") -> None:
    batch = {b"data": PLANES[rows], labels.encode(): LABELS[rows].tolist(), b"batch_label": b"1"}
    path.write_bytes(pickle.dumps(batch, protocol=protocol))


def check(folder: Path, names: list[str]) -> None:
    source = load_images(folder)
    assert is_image_data(folder)
    assert np.array_equal(source.images, IMAGES)
    assert source.labels.tolist() == [names[label] for label in LABELS]
    assert source.test is not None
    assert source.test.tolist() == [False] * 10 + [True] * 2


def test_ten_binary(tmp_path: Path) -> None:
    write_binary(tmp_path / "data_batch_1.bin", slice(0, 6))
    write_binary(tmp_path / "data_batch_2.bin", slice(6, 10))
    write_binary(tmp_path / "test_batch.bin", slice(10, 12))
    (tmp_path / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    check(tmp_path, NAMES)


def test_hundred_binary(tmp_path: Path) -> None:
    write_binary(tmp_path / "train.bin", slice(0, 10), coarse=True)
    write_binary(tmp_path / "test.bin", slice(10, 12), coarse=True)
    (tmp_path / "fine_label_names.txt").write_text("\n".join(NAMES))
    check(tmp_path, NAMES)
    assert load_images(tmp_path).notes[0].endswith("the 100 fine ones are taken")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_ten_pickled(tmp_path: Path, protocol: int) -> None:
    write_pickle(tmp_path / "data_batch_1", slice(0, 6), protocol)
    write_pickle(tmp_path / "data_batch_2", slice(6, 10), protocol)
    write_pickle(tmp_path / "test_batch", slice(10, 12), protocol)
    (tmp_path / "batches.meta").write_bytes(pickle.dumps({"label_names": NAMES}, protocol))
    check(tmp_path, NAMES)


def test_hundred_pickled(tmp_path: Path) -> None:
    write_pickle(tmp_path / "train", slice(0, 10), labels="fine_labels")
    write_pickle(tmp_path / "test", slice(10, 12), labels="fine_labels")
    meta = {b"fine_label_names": [name.encode() for name in NAMES]}
    (tmp_path / "meta").write_bytes(pickle.dumps(meta))
    check(tmp_path, NAMES)


def test_as_python_2_wrote_it(tmp_path: Path) -> None:
    # Names of numpy 1 and texts that are bytes, as in the files that are handed round.
    write_pickle(tmp_path / "now", slice(0, 12))
    content = (tmp_path / "now").read_bytes().replace(b"numpy._core", b"numpy.core")
    (tmp_path / "data_batch_1").write_bytes(content)
    source = load_images(tmp_path / "data_batch_1")
    assert is_image_data(tmp_path / "data_batch_1")
    assert np.array_equal(source.images, IMAGES)
    assert source.labels.tolist() == LABELS.tolist()
    assert source.test is None


def test_one_binary_file(tmp_path: Path) -> None:
    for coarse in (False, True):
        path = tmp_path / f"mine{coarse}.bin"
        write_binary(path, slice(0, 12), coarse)
        source = load_images(path)
        assert is_image_data(path)
        assert np.array_equal(source.images, IMAGES)
        assert source.labels.tolist() == LABELS.tolist()


def test_cut_off_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1.bin"
    write_binary(path, slice(0, 12))
    path.write_bytes(path.read_bytes()[:-73])
    with pytest.raises(
        DataError, match=r"batch_1\.bin has 36,803 bytes, .* 3,073 bytes each and 3,000 are left"
    ):
        load_images(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="has 0 bytes"):
        load_images(tmp_path)


@pytest.mark.parametrize(
    ("batch", "match"),
    [
        ([1, 2], "holds a list, but a batch of CIFAR's is a dictionary"),
        ({"images": PLANES}, r"no images 'data' with 'labels' .*there is: images"),
        ({"data": PLANES[:, 1:], "labels": []}, r"is uint8 \[12, 3071\], but .* \[n, 3072\]"),
        ({"data": PLANES / 255, "labels": []}, "is float64"),
        ({"data": PLANES, "labels": [0, 1]}, "has 2 labels for 12 images"),
    ],
)
def test_pickles_of_something_else(tmp_path: Path, batch: object, match: str) -> None:
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(batch))
    with pytest.raises(DataError, match=match):
        load_images(tmp_path)


class Calls:
    """Pickled as a call of any function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_in_a_pickle_is_run(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "victim"
    for call in (
        Calls(os.mkdir, str(victim)),
        Calls(eval, f"__import__('os').mkdir({str(victim)!r})"),
        Calls(getattr, "a", "upper"),
        Calls(np.fromfile, "/etc/hostname"),
    ):
        content = pickle.dumps({"data": PLANES, "labels": call}, protocol)
        (tmp_path / "data_batch_1").write_bytes(content)
        with pytest.raises(DataError, match=r"data_batch_1 asks to run .* it was not run: do not"):
            load_images(tmp_path)
        assert not victim.exists()
    pickle.loads(pickle.dumps(Calls(os.mkdir, str(victim))))
    assert victim.exists()  # the attack itself does work


def test_names_within_allowed_modules_are_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "p"
    for asked in (b"cnumpy\nload\n.", b"c_codecs\nlookup\n.", b"cnumpy\nndarray.tofile\n."):
        path.write_bytes(asked)
        with pytest.raises(DataError, match="asks to run"):
            read_array_pickle(path)
    path.write_bytes(b"c_codecs\nencode\n(Vabc\nVrot13\ntR.")
    with pytest.raises(DataError, match=r"asks to run _codecs\.encode with 'rot13'"):
        read_array_pickle(path)


def test_a_malicious_list_of_names(tmp_path: Path) -> None:
    write_pickle(tmp_path / "data_batch_1", slice(0, 12))
    (tmp_path / "batches.meta").write_bytes(pickle.dumps(Calls(os.getcwd)))
    with pytest.raises(DataError, match=r"batches\.meta asks to run posix\.getcwd|nt\.getcwd"):
        load_images(tmp_path)


@given(st.binary(max_size=80))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-pickle"
    path.write_bytes(content)
    with suppress(DataError):
        read_array_pickle(path)


def test_the_old_files_need_no_more_than_is_allowed(tmp_path: Path) -> None:
    write_pickle(tmp_path / "a", slice(0, 2))
    asked = {
        argument
        for code, argument, _ in pickletools.genops(io.BytesIO((tmp_path / "a").read_bytes()))
        if code.name == "GLOBAL"
    }
    assert asked <= {
        "numpy._core.multiarray _reconstruct",
        "numpy.core.multiarray _reconstruct",
        "numpy ndarray",
        "numpy dtype",
        "_codecs encode",
    }


def test_archives_are_to_be_unpacked(tmp_path: Path) -> None:
    for name in ("cifar-10-python.tar.gz", "cifar.tgz", "pets.zip"):
        (tmp_path / name).write_bytes(b"x")
        assert is_image_data(tmp_path / name)
        with pytest.raises(DataError, match="is an archive; unpack it and name the folder"):
            load_images(tmp_path / name)


def test_a_folder_in_a_folder(tmp_path: Path) -> None:
    inner = tmp_path / "cifar-10-batches-py"
    inner.mkdir()
    write_pickle(inner / "data_batch_1", slice(0, 12))
    with pytest.raises(DataError, match=r"name the folder in it: .*cifar-10-batches-py"):
        load_images(tmp_path)
