from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from meritnas.data.images.arrays import as_images
from meritnas.data.images.labels import as_labels
from meritnas.data.images.source import is_image_data, load_images
from meritnas.data.pictures.shape import with_channels, with_size
from meritnas.errors import DataError

PIXELS = hnp.arrays(np.uint8, st.tuples(*[st.integers(2, 6)] * 3, st.sampled_from([1, 3])))


@given(PIXELS)
@settings(max_examples=30, deadline=None)
def test_all_layouts_and_types_give_the_same_pixels(pixels: np.ndarray) -> None:
    pixels[0, 0, 0, 0] = 255  # so that the largest value tells the scale
    _, h, w, c = pixels.shape
    forms = [pixels, pixels.astype(np.int64), pixels.astype(np.float64), pixels / 255]
    forms += [(pixels / 255).astype(np.float32), pixels.astype(np.uint16) * 257]
    if h not in (1, 3) and w not in (1, 3):
        forms.append(pixels.transpose(0, 3, 1, 2))
    if c == 1:
        forms.append(pixels[..., 0])
    for form in forms:
        images, _ = as_images(form, "x")
        assert images.dtype == np.uint8
        assert images.flags["C_CONTIGUOUS"]
        assert np.array_equal(images, pixels)


def test_booleans_are_black_and_white() -> None:
    images, notes = as_images(np.eye(4, dtype=bool)[None], "x")
    assert sorted(set(images.reshape(-1).tolist())) == [0, 255]
    assert notes == ()


def test_notes_say_what_was_done() -> None:
    assert as_images(np.ones((2, 4, 4)), "x")[1] == (
        "the values of x, 0 to 1, are scaled to 0..255",
    )
    words = np.full((2, 4, 4), 65535, dtype=np.uint16)
    assert as_images(words, "x")[1] == ("the values of x, 0 to 65535, are scaled to 0..255",)
    both = np.zeros((2, 3, 4, 3), dtype=np.uint8)
    images, notes = as_images(both, "x")
    assert images.shape == (2, 3, 4, 3)
    assert notes == ("the last axis of x [2, 3, 4, 3] is taken as the channels",)


@pytest.mark.parametrize(
    "shape", [(4,), (4, 16), (4, 8, 8, 2), (4, 8, 8, 4), (0, 8, 8), (2, 1, 8, 8, 3)]
)
def test_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"x has the shape .*with 1 or 3 channels; reshape it"):
        as_images(np.zeros(shape, dtype=np.uint8), "x")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.nan, "NaN or infinite values; correct or drop"),
        (np.inf, "NaN or infinite values"),
        (-0.5, "values from -0.5 to 1, but images go from 0 to 1 or from 0 to 255; scale"),
        (256.0, "values from 1 to 256"),
    ],
)
def test_other_values(value: float, match: str) -> None:
    array = np.ones((2, 4, 4))
    array[1, 2, 3] = value
    with pytest.raises(DataError, match=match):
        as_images(array, "x")


def test_no_numbers() -> None:
    with pytest.raises(DataError, match=r"x holds values of type .*; images are numbers"):
        as_images(np.full((2, 4, 4), "a"), "x")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([2, 0, 1], dtype=np.uint8), [2, 0, 1]),
        (np.array([[2], [0], [1]]), [2, 0, 1]),
        (np.array([2.0, 0.0, 1.0]), [2, 0, 1]),
        (np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]]), [2, 0, 1]),
        (np.array(["c", "a", "b"]), ["c", "a", "b"]),
        (np.array([b"c", b"a", b"b"]), ["c", "a", "b"]),
        (np.array(["c", "a", "b"], dtype=object), ["c", "a", "b"]),
        (np.array([np.int64(2), 0, 1], dtype=object), [2, 0, 1]),
        (pd.Series(["c", "a", "b"], index=[7, 8, 9]), ["c", "a", "b"]),
        (pd.Categorical(["c", "a", "b"]), ["c", "a", "b"]),
        ([True, False, True], [True, False, True]),
    ],
)
def test_labels(values: object, expected: list[object]) -> None:
    labels = as_labels(values, 3, "y")
    assert labels.tolist() == expected
    assert [type(label) for label in labels.tolist()] == [type(label) for label in expected]
    assert labels.name == "label"


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([0, 1], "y has 2 labels for 3 images; give one for each"),
        ([0.5, 1.0, 2.0], "y has the label 0.5, but labels are classes"),
        ([0.0, np.nan, 2.0], "y has the label nan"),
        (["a", None, "b"], "y lacks the labels of 1 of 3 images; drop"),
        (np.array(["a", 1, "b"], dtype=object), "labels of type int, str; make them all"),
        (np.zeros((3, 2)), r"labels of shape \[3, 2\]; give one class for each image"),
        (np.zeros(3, dtype="M8[s]"), r"type datetime64\[s\]; make them whole numbers or text"),
    ],
)
def test_strange_labels(values: object, match: str) -> None:
    with pytest.raises(DataError, match=match):
        as_labels(values, 3, "y")


def test_a_pair_of_arrays() -> None:
    images = np.zeros((12, 8, 8), dtype=np.uint8)
    labels = np.arange(12) % 2
    source = load_images((images, labels))
    images[:] = 9
    assert (source.name, source.location, source.test) == ("arrays", None, None)
    assert source.images.shape == (12, 8, 8, 1)
    assert (source.images == 0).all()
    assert is_image_data((images, labels))
    assert not is_image_data((images.reshape(12, 64), labels))
    with pytest.raises(DataError, match="11 labels for 12 images"):
        load_images((images, labels[1:]))


@given(PIXELS, st.integers(4, 9), st.integers(4, 9))
@settings(max_examples=30, deadline=None)
def test_size_and_channels(pixels: np.ndarray, height: int, width: int) -> None:
    images = with_size(pixels, (height, width))
    assert images.shape == (len(pixels), height, width, pixels.shape[3])
    assert images.min() >= pixels.min()
    assert images.max() <= pixels.max()
    grey = with_channels(images, 1)
    assert grey.shape == (*images.shape[:3], 1)
    assert np.array_equal(with_channels(with_channels(grey, 3), 1), grey)


def test_grey_weighs_colours_as_eyes_do() -> None:
    colours = np.zeros((3, 4, 4, 3), dtype=np.uint8)
    for channel in range(3):
        colours[channel, ..., channel] = 255
    assert with_channels(colours, 1)[:, 0, 0, 0].tolist() == [76, 150, 29]
