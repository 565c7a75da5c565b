"""Images in CIFAR's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.files.plain_file import read_plain_file
from meritnas.data.images.array_pickle import read_array_pickle
from meritnas.data.images.image_set import ImageSet
from meritnas.data.images.labels import LABEL, as_labels
from meritnas.data.images.official_parts import official_test
from meritnas.errors import DataError
from meritnas.wording import listed

_TEN_TRAIN = re.compile(r"data_batch_\d+")
_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_COARSE_NOTE = "of CIFAR-100's two labels, the 100 fine ones are taken"


@dataclass(frozen=True)
class _Batch:
    """Images of one file.

    Attributes:
        pixels: Uint8 [n, 3072], red, green and blue planes.
        labels: Class number of each image, int64 [n].
    """

    pixels: np.ndarray
    labels: np.ndarray


def has_cifar_files(folder: Path) -> bool:
    """Tells whether the files of CIFAR-10 or CIFAR-100 lie in a folder, binary or for Python."""
    return bool(_found(folder, "train") or _found(folder, "test"))


def is_cifar_file(path: Path) -> bool:
    """Tells by its name whether a file is a batch of CIFAR's, or a binary file like them."""
    return path.suffix == ".bin" or path.name == "test_batch" or _is_ten_train(path.name)


def read_cifar_folder(folder: Path) -> ImageSet:
    """Reads CIFAR-10 or CIFAR-100 as it comes out of its archive, binary or for Python.

    Raises:
        DataError: A file is damaged, or a pickle asks to run something.
    """
    train, test = _found(folder, "train"), _found(folder, "test")
    return _read(folder, [("train", path) for path in train] + [("test", path) for path in test])


def read_cifar_file(path: Path) -> ImageSet:
    """Reads one batch of CIFAR's, with the names of its classes if they lie beside it.

    Raises:
        DataError: As `read_cifar_folder` does.
    """
    return _read(path.parent, [("train", path)])


def _is_ten_train(name: str) -> bool:
    return bool(_TEN_TRAIN.fullmatch(name))


def _found(folder: Path, part: str) -> list[Path]:
    """Returns the files of a part; binary ones win over pickles, ten classes over a hundred."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    by_name = {path.name: path for path in files}
    for ending in (".bin", ""):
        stems = [path for path in files if path.name.endswith(ending)]
        if part == "train":
            ten = [path for path in stems if _is_ten_train(path.name.removesuffix(ending))]
        else:
            ten = [path for path in stems if path.name == f"test_batch{ending}"]
        if ten:
            return ten
        beside = {f"train{ending}", f"test{ending}"} <= set(by_name) or "meta" in by_name
        if f"{part}{ending}" in by_name and (ending or beside):
            return [by_name[f"{part}{ending}"]]
    return []


def _read(folder: Path, files: list[tuple[str, Path]]) -> ImageSet:
    batches = [_read_batch(path) for _, path in files]
    pixels = np.concatenate([batch.pixels for batch in batches])
    images = np.ascontiguousarray(pixels.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1))
    hundred = any(_is_hundred(path) for _, path in files)
    names = _class_names(folder, hundred)
    pieces = [
        as_labels(batch.labels, len(batch.pixels), str(path), names)
        for batch, (_, path) in zip(batches, files, strict=True)
    ]
    test, _ = official_test([part for part, _ in files], [len(batch.labels) for batch in batches])
    labels = pd.concat(pieces, ignore_index=True).rename(LABEL)
    return ImageSet(images, labels, test, notes=(_COARSE_NOTE,) if hundred else ())


def _is_hundred(path: Path) -> bool:
    if path.name in ("train", "test", "train.bin", "test.bin"):
        return True
    size = path.stat().st_size
    ten_like = _is_ten_train(path.stem) or path.stem == "test_batch"
    return path.suffix == ".bin" and not ten_like and size % (_PIXELS + 1) != 0


def _read_batch(path: Path) -> _Batch:
    if path.suffix == ".bin":
        return _read_binary(path, label_bytes=2 if _is_hundred(path) else 1)
    return _read_pickle(path)


def _read_binary(path: Path, label_bytes: int) -> _Batch:
    """Reads images as label bytes, the fine one last, then 3072 pixels."""
    content = np.frombuffer(read_plain_file(path), dtype=np.uint8)
    record = label_bytes + _PIXELS
    if not len(content) or len(content) % record:
        raise DataError(
            f"{path} has {len(content):,} bytes, but images in CIFAR's binary files have {record:,}"
            f" bytes each and {len(content) % record:,} are left over; copy or load it again"
        )
    records = content.reshape(-1, record)
    return _Batch(records[:, label_bytes:], records[:, label_bytes - 1].astype(np.int64))


def _read_pickle(path: Path) -> _Batch:
    found = _text_keys(read_array_pickle(path), path)
    pixels = found.get("data")
    labels = found.get("fine_labels", found.get("labels"))
    if not isinstance(pixels, np.ndarray) or labels is None:
        raise DataError(
            f"{path} has no images 'data' with 'labels' or 'fine_labels'; "
            f"there is: {listed(found) or 'nothing'}"
        )
    if pixels.dtype != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != _PIXELS:
        raise DataError(
            f"'data' in {path} is {pixels.dtype} {list(pixels.shape)}, but CIFAR's images are "
            f"uint8 [n, {_PIXELS}]"
        )
    return _Batch(pixels, _class_numbers(labels, path))


def _class_numbers(labels: Any, path: Path) -> np.ndarray:
    """The labels of a pickle, where they are whole numbers; lists of anything are not looked into.

    Raises:
        DataError: They are something else.
    """
    if isinstance(labels, list) and all(type(label) is int for label in labels):
        return np.array(labels)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return labels
    raise DataError(f"the labels in {path} are no list of whole numbers; save them as one")


def _class_names(folder: Path, hundred: bool) -> list[str] | None:
    """Returns the names of the classes, None if no file tells them."""
    written = folder / ("fine_label_names.txt" if hundred else "batches.meta.txt")
    if written.is_file():
        lines = read_plain_file(written).decode("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip()] or None
    pickled = folder / ("meta" if hundred else "batches.meta")
    if not pickled.is_file():
        return None
    found = _text_keys(read_array_pickle(pickled), pickled)
    names = found.get("fine_label_names" if hundred else "label_names")
    if not isinstance(names, list) or not all(isinstance(name, str | bytes) for name in names):
        return None
    return [_as_text(name) for name in names]


def _text_keys(found: Any, path: Path) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise DataError(
            f"{path} holds a {type(found).__name__}, but a batch of CIFAR's is a dictionary"
        )
    return {_as_text(key): value for key, value in found.items()}


def _as_text(name: str | bytes) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
