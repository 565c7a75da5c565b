from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from meritnas.data.images.encoder import ImageEncoder
from meritnas.errors import DataError

PIXELS = hnp.arrays(np.uint8, st.tuples(*[st.integers(1, 6)] * 3, st.sampled_from([1, 3])))


@given(PIXELS)
@settings(max_examples=40, deadline=None)
def test_inputs_are_normal_and_channels_last(images: np.ndarray) -> None:
    images[0, 0, 0, 0] ^= 1  # hypothesis likes arrays of one value
    if (images == images[0, 0, 0]).all():
        return
    encoder = ImageEncoder.fit(images)
    inputs = encoder.transform(images)
    assert inputs.dtype == torch.float32
    assert inputs.shape == (len(images), *encoder.shape)
    assert inputs.is_contiguous(memory_format=torch.channels_last)
    assert inputs.isfinite().all()
    assert torch.allclose(inputs.mean((0, 2, 3)), torch.zeros(encoder.channels), atol=1e-4)
    expected = images / 255.0
    assert np.allclose(encoder.mean, expected.mean((0, 1, 2)))
    varying = images.min((0, 1, 2)) < images.max((0, 1, 2))
    assert np.allclose(np.array(encoder.std)[varying], expected.std((0, 1, 2))[varying])
    plain = (expected - np.array(encoder.mean)) / np.array(encoder.std)
    assert np.allclose(inputs.permute(0, 2, 3, 1).numpy(), plain, atol=1e-4)


def test_statistics_come_from_the_rows_only() -> None:
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 5, 3)).astype(np.uint8)
    rows = np.array([1, 4, 7])
    encoder = ImageEncoder.fit(images, rows)
    assert encoder == ImageEncoder.fit(images[rows])
    assert encoder != ImageEncoder.fit(images)
    assert torch.equal(encoder.transform(images, rows), encoder.transform(images)[rows])
    assert encoder.shape == (3, 4, 5)
    assert encoder.warnings == ()


def test_a_constant_channel() -> None:
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 4, 3)).astype(np.uint8)
    images[..., 1] = 77
    encoder = ImageEncoder.fit(images)
    assert (encoder.transform(images)[:, 1] == 0).all()
    assert encoder.warnings == ("channel 1 has one value in all train images",)
    with pytest.raises(DataError, match=r"pixels of all train images are the same; .*nothing"):
        ImageEncoder.fit(np.zeros((10, 4, 4, 1), dtype=np.uint8))


def test_json_and_back() -> None:
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 5, 3)).astype(np.uint8)
    encoder = ImageEncoder.fit(images)
    value = json.loads(json.dumps(encoder.to_json()))
    assert value["kind"] == "image"
    assert ImageEncoder.from_json(value) == encoder


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((2, 4, 4, 1), dtype=np.uint8),
        np.zeros((2, 5, 4, 3), dtype=np.uint8),
        np.zeros((2, 4, 4), dtype=np.uint8),
        np.zeros((2, 4, 4, 3)),
    ],
)
def test_images_of_another_shape(images: np.ndarray) -> None:
    encoder = ImageEncoder(3, 4, 4, (0.5,) * 3, (0.2,) * 3)
    with pytest.raises(DataError, match=r"must be uint8 \[n, 4, 4, 3\] as those that were learned"):
        encoder.transform(images)


def test_no_images() -> None:
    encoder = ImageEncoder(3, 4, 4, (0.5,) * 3, (0.2,) * 3)
    assert encoder.transform(np.zeros((0, 4, 4, 3), dtype=np.uint8)).shape == (0, 3, 4, 4)
