"""Whatever bytes a file has: it is read, or refused by an error for users."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.loaded import load_table
from meritnas.data.images.cifar_files import read_cifar_file
from meritnas.data.images.idx_files import read_idx_images
from meritnas.data.images.source import load_images
from meritnas.data.modalities.source import load_modalities
from meritnas.data.pictures.picture import read_picture
from meritnas.data.texts.source import load_text
from meritnas.errors import DataError

TABLE = b"a,b,c\n" + b"".join(b"%d,x%d,2024-01-%02d\n" % (k, k % 3, k + 1) for k in range(12))
PIXELS = np.arange(240, dtype=np.uint8).reshape(12, 5, 4)
IDX = b"\0\0\x08\x03\0\0\0\x0c\0\0\0\5\0\0\0\4"
WORDS = b'1 1,5 NA x 2024-01-31 01/02/2024 \xff \xc3\xa4 \xef\xbb\xbf inf 1e999 % - . , ; | "'
PIECES = st.sampled_from([*WORDS.split(b" "), b" ", b"\t", b"\n", b"\r\n"])
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.binary(max_size=4) | PIECES | st.sampled_from([b"\xff" * 4, bytes(4)]),
        st.integers(0, 8),
    ),
    min_size=1,
    max_size=5,
)


def saved(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def stored(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def picture(form: str) -> bytes:
    stream = io.BytesIO()
    Image.effect_noise((9, 8), 90).convert("RGB").save(stream, form)
    return stream.getvalue()


def read_frame(path: Path) -> None:
    """What `meritnas columns` does."""
    frame = load_table(path, max_unpacked_mb=20).frame
    assert len(frame) > 0
    assert len(TableEncoder.fit(frame).describe()) == frame.shape[1]


def read_images(path: Path) -> None:
    source = load_images(path, max_unpacked_mb=20)
    assert source.images.dtype == np.uint8
    assert source.images.ndim == 4
    assert len(source.labels) == len(source.images)


def read_idx(path: Path) -> None:
    assert read_idx_images(path, 20).images.ndim == 4


def read_cifar(path: Path) -> None:
    found = read_cifar_file(path)
    assert found.images.shape[1:] == (32, 32, 3)
    assert found.labels is not None
    assert len(found.labels) == len(found.images)


def read_one_picture(path: Path) -> None:
    assert read_picture(path, "it", (4, 4)).shape == (4, 4, 3)


def read_modalities(path: Path) -> None:
    source = load_modalities(path, "y", max_unpacked_mb=20)
    assert source.views


def read_words(path: Path) -> None:
    for level in ("word", "character"):
        assert load_text(path, level, 20).train  # type: ignore[arg-type]


Reader = Callable[[Path], None]
READERS: dict[str, tuple[str, bytes, Reader]] = {
    "CSV": ("t.csv", TABLE, read_frame),
    "semicolons": ("t.csv", b"a;b\n" + b"1,5;x\n2,5;y\n3,1;z\n" * 4, read_frame),
    "row names": ("t.txt", b'"x" "y"\n"1" 2 3\n"2" 4 5\n"3" 6 7\n', read_frame),
    "UTF-16": ("t.tsv", TABLE.replace(b",", b"\t").decode().encode("utf-16"), read_frame),
    "gzip": ("t.csv.gz", gzip.compress(TABLE), read_frame),
    "Parquet": ("t.parquet", stored(pd.read_csv(io.BytesIO(TABLE))), read_frame),
    "an archive": ("a.npz", saved(images=PIXELS, labels=np.arange(12) % 3), read_images),
    "modalities": (
        "v.npz",
        saved(sound=PIXELS[:, 0] / 9, said=np.array(["a b", "c d"] * 6), y=np.arange(12) % 2),
        read_modalities,
    ),
    "idx": (
        "x-images-idx3",
        b"\0\0\x08\x03\0\0\0\x0c\0\0\0\5\0\0\0\4" + PIXELS.tobytes(),
        read_idx,
    ),
    "CIFAR": ("data_batch_1.bin", bytes(3073 * 2), read_cifar),
    "PNG": ("p.png", picture("PNG"), read_one_picture),
    "JPEG": ("p.jpg", picture("JPEG"), read_one_picture),
    "GIF": ("p.gif", picture("GIF"), read_one_picture),
    "BMP": ("p.bmp", picture("BMP"), read_one_picture),
    "a text": ("b.txt", b"It was late, and nobody came. <unk> x-y\n\n" * 30, read_words),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@pytest.mark.parametrize("name", READERS)
def test_good_files_are_read(folder: Path, name: str) -> None:
    file, content, read = READERS[name]
    (folder / file).write_bytes(content)
    read(folder / file)


@pytest.mark.parametrize("name", READERS)
@given(changes=CHANGES, cut=st.none() | st.integers(0, 400))
@settings(max_examples=50)
def test_changed_files_are_read_or_refused(
    folder: Path, name: str, changes: list[tuple[int, bytes, int]], cut: int | None
) -> None:
    file, content, read = READERS[name]
    for place, new, old in changes:
        start = place % (len(content) + 1)
        content = content[:start] + new + content[start + old :]
    (folder / file).write_bytes(content[:cut])
    with suppress(DataError):
        read(folder / file)


@pytest.mark.parametrize("name", READERS)
@given(content=st.binary(max_size=200) | st.lists(PIECES, max_size=60).map(b"".join))
@settings(max_examples=30)
def test_any_bytes_are_read_or_refused(folder: Path, name: str, content: bytes) -> None:
    file, _, read = READERS[name]
    (folder / file).write_bytes(content)
    with suppress(DataError):
        read(folder / file)
