from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from meritnas.data.images.bundle import encode_images, outline_images
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.source import ImageSource, load_images
from meritnas.errors import DataError


def source(n: int = 100, classes: int = 4, tests: int = 0) -> ImageSource:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n, 6, 6, 3)).astype(np.uint8)
    images[:, 0, 0, 0] = np.arange(n) % classes  # each image tells its class
    names = np.array([f"class {place}" for place in range(classes)])
    made = load_images((images, names[np.arange(n) % classes]))
    return replace(made, test=np.arange(n) >= n - tests) if tests else made


def test_parts_without_official_test_images() -> None:
    images = source()
    outline = outline_images(images, seed=0)
    bundle = encode_images(images, outline)
    assert (len(bundle.train), len(bundle.valid), len(bundle.test)) == (60, 20, 20)
    for part in (bundle.train, bundle.valid, bundle.test):
        assert part.inputs.shape == (len(part), 3, 6, 6)
        assert part.inputs.dtype == torch.float32
        assert part.inputs.is_contiguous(memory_format=torch.channels_last)
        assert part.target.dtype == torch.int64
        assert part.weights is None
        assert torch.bincount(part.target).unique().numel() == 1
    assert bundle.name == "arrays"
    assert bundle.task.kind == "multiclass"
    assert bundle.task.classes == ("class 0", "class 1", "class 2", "class 3")
    assert bundle.encoder == ImageEncoder.fit(images.images, outline.split.train)
    assert outline.notes == ()


def test_inputs_and_targets_belong_to_the_same_images() -> None:
    for tests in (0, 20):
        images = source(tests=tests)
        bundle = encode_images(images, outline_images(images, seed=1))
        assert isinstance(bundle.encoder, ImageEncoder)
        mean, std = bundle.encoder.mean[0], bundle.encoder.std[0]
        for part in (bundle.train, bundle.valid, bundle.test):
            seen = (part.inputs[:, 0, 0, 0] * std + mean) * 255
            assert torch.equal(seen.round().long(), part.target)


def test_official_test_images_are_the_test_part() -> None:
    images = source(tests=20)
    outline = outline_images(images, seed=0)
    split = outline.split
    assert split.test.tolist() == list(range(80, 100))
    assert (len(split.train), len(split.valid)) == (60, 20)
    assert sorted([*split.train, *split.valid, *split.test]) == list(range(100))
    counts = np.bincount(split.valid % 4)
    assert counts.tolist() == [5, 5, 5, 5]
    other = outline_images(images, seed=1).split
    assert other.test.tolist() == split.test.tolist()
    assert other.train.tolist() != split.train.tolist()
    again = outline_images(images, seed=0).split
    assert again.train.tolist() == split.train.tolist()


def test_two_classes_are_binary() -> None:
    images = source(classes=2)
    bundle = encode_images(images, outline_images(images, seed=0))
    assert bundle.task.kind == "binary"
    assert bundle.train.target.dtype == torch.float32


def test_class_weights() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (200, 5, 5)).astype(np.uint8)
    images = load_images((pixels, np.array([0] * 180 + [1] * 20)))
    assert "--class-weight balanced" in outline_images(images, seed=0).notes[0]
    outline = outline_images(images, seed=0, class_weight="balanced")
    assert outline.notes == ()
    train = encode_images(images, outline).train
    assert train.weights is not None
    assert train.weights.mean().item() == pytest.approx(1)
    of_class = [train.weights[train.target == label].sum().item() for label in (0, 1)]
    assert of_class[0] == pytest.approx(of_class[1])
    with pytest.raises(DataError, match="class_weight must be 'balanced'"):
        outline_images(images, seed=0, class_weight="all")


def test_classes_of_few_images() -> None:
    pixels = np.zeros((20, 5, 5), dtype=np.uint8)
    images = load_images((pixels, np.array(["a"] * 18 + ["b"] * 2)))
    with pytest.raises(DataError, match=r"'b' of arrays has 2 images, .* at least 3; add images"):
        outline_images(images, seed=0)
    images = load_images((pixels, np.array([0] * 18 + [1] * 2)))
    with pytest.raises(DataError, match="the class 1 of arrays has 2 images"):
        outline_images(images, seed=0)


def test_nothing_to_see() -> None:
    images = load_images((np.zeros((20, 5, 5), dtype=np.uint8), np.arange(20) % 2))
    with pytest.raises(DataError, match="nothing to learn"):
        encode_images(images, outline_images(images, seed=0))
