"""Small stand-ins for the public files of the papers' data, in the formats that they have."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from scipy.io import savemat

_RNG = np.random.default_rng(0)
_TABLES = {"volkert": 6, "aloi": 5, "connect4": 4, "higgs": 5}
_VIEWS = {
    "mmimdb": {"image.0": (3, 4, 4), "image.1": (4, 2, 2), "text.0": (6,)},
    "ntu": {"video.0": (3, 2, 2), "video.1": (4,), "skeleton.0": (3, 4)},
    "egogesture": {"rgb.0": (3, 2, 2), "depth.0": (3, 2, 2)},
}
_TARGETS = {"ntu": "action", "egogesture": "gesture"}


def make_files(folder: Path) -> None:
    """All of them, in a folder."""
    for make in _MAKERS:
        make(folder)


def _pixels(labels: np.ndarray, *shape: int) -> np.ndarray:
    """Images [n, shape] of two kinds, dark and light."""
    found = _RNG.integers(0, 120, (len(labels), *shape)) + 120 * (labels % 2).reshape(
        -1, *(1 for _ in shape)
    )
    return found.astype(np.uint8)


def _labels(count: int, first: int = 0) -> np.ndarray:
    return np.arange(count) % 2 + first


def _cifar(folder: Path) -> None:
    """CIFAR-10's and CIFAR-100's archives for Python; keys are bytes, as Python 2 has left them."""
    ten, hundred = folder / "cifar-10-batches-py", folder / "cifar-100-python"
    ten.mkdir()
    hundred.mkdir()
    names = [b"frog", b"ship"]
    for k in range(1, 6):
        _dump(ten / f"data_batch_{k}", b"labels", _labels(6))
    _dump(ten / "test_batch", b"labels", _labels(8))
    (ten / "batches.meta").write_bytes(pickle.dumps({b"label_names": names}, 2))
    for part, count in (("train", 30), ("test", 8)):
        _dump(hundred / part, b"fine_labels", _labels(count), coarse_labels=[0] * count)
    meta = {b"fine_label_names": names, b"coarse_label_names": [b"thing"]}
    (hundred / "meta").write_bytes(pickle.dumps(meta, 2))


def _dump(path: Path, key: bytes, labels: np.ndarray, **more: list[int]) -> None:
    beside = {name.encode(): values for name, values in more.items()}
    batch = {b"data": _pixels(labels, 3072), key: labels.tolist(), **beside}
    path.write_bytes(pickle.dumps(batch, 2))


def _svhn(folder: Path) -> None:
    """Matlab's files: images [32, 32, 3, n], classes 1 to 10."""
    for part, count in (("train", 30), ("test", 8)):
        labels = _labels(count, 1)
        images = _pixels(labels, 32, 32, 3).transpose(1, 2, 3, 0)
        savemat(folder / f"{part}_32x32.mat", {"X": images, "y": labels[:, None]})


def _small_imagenet(folder: Path) -> None:
    """ImageNet in 16 by 16 pixels with classes 1 to 1000, of which 120 are taken."""
    for name, count in (("train_data_batch_1", 30), ("train_data_batch_2", 30), ("val_data", 12)):
        labels = _labels(count, 120)  # half of them are beyond the 120 classes
        labels[::3] = 1
        batch = {"data": _pixels(labels, 768), "labels": labels.tolist()}
        (folder / name).write_bytes(pickle.dumps(batch, 2))


def _folders(folder: Path) -> None:
    """ImageNet's train and val, and a folder for each class without parts."""
    for part, count in (("imagenet/train", 16), ("imagenet/val", 4), ("sport8", 20)):
        for k, name in enumerate(("n01440764", "n01443537")):
            place = folder / part / name
            place.mkdir(parents=True)
            for number, image in enumerate(_pixels(np.full(count, k), 12, 10, 3)):
                Image.fromarray(image).save(place / f"{name}_{number}.JPEG")


def _penn_treebank(folder: Path) -> None:
    (folder / "ptb").mkdir()
    for part, lines in (("train", 90), ("valid", 30), ("test", 30)):
        words = _RNG.choice(["the", "<unk>", "N", "mr.", "said", "it"], (lines, 10))
        text = "".join(f" {' '.join(line)} \n" for line in words)
        (folder / "ptb" / f"ptb.{part}.txt").write_text(text)


def _criteo(folder: Path) -> None:
    """A label, 13 counts, 26 hashed categories; tabs between them, no header, cells missing."""
    label = _labels(120)
    counts = pd.DataFrame(_RNG.integers(0, 50, (120, 13)) + 20 * label[:, None]).astype("Int64")
    categories = pd.DataFrame(_RNG.choice(["68fd1e64", "80e26c9b", "05db9164"], (120, 26)))
    table = pd.concat([pd.Series(label), counts.mask(counts == 7), categories], axis=1)
    table.to_csv(folder / "train.txt", sep="\t", header=False, index=False)


def _open_ml(folder: Path) -> None:
    for name, columns in _TABLES.items():
        labels = _labels(100)
        values = _RNG.normal(size=(100, columns)) + labels[:, None]
        table = pd.DataFrame(values, columns=[f"V{k}" for k in range(1, columns + 1)])
        if name == "connect4":
            table = table.round().astype(int).clip(0, 2)
        table.assign(**{"class": labels}).to_csv(folder / f"{name}.csv", index=False)


def _features(folder: Path) -> None:
    for name, shapes in _VIEWS.items():
        labels = _labels(60)
        views = {
            each: (_RNG.normal(size=(60, *shape)) + labels.reshape(-1, *(1 for _ in shape)))
            for each, shape in shapes.items()
        }
        test = np.arange(60) >= 48
        target = _TARGETS.get(name)
        answers = {target: labels} if target else {"genres": np.stack([labels, 1 - labels], 1)}
        arrays = {each: values.astype(np.float32) for each, values in views.items()}
        if not target:
            answers["genres_names"] = np.array(["Drama", "Comedy"])
        np.savez(folder / f"{name}.npz", **arrays, **answers, test=test)


_MAKERS: tuple[Callable[[Path], None], ...] = (
    *(_cifar, _svhn, _small_imagenet, _folders, _penn_treebank, _criteo, _open_ml, _features),
)
