"""Images ready to train on: their classes, their split, their pixels as numbers."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from meritnas.data.bundle import Bundle, Outline, bundle_parts, weigh_classes
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.source import ImageSource
from meritnas.data.split import Split, split_few, split_rows
from meritnas.data.task import Task
from meritnas.errors import DataError

_LEAST_IMAGES_OF_A_CLASS = 3
_VALID_SHARE = 0.25


def outline_images(source: ImageSource, seed: int, class_weight: str | None = None) -> Outline:
    """Finds the classes and splits the images, each class alike.

    Of images without a test part, 60 % are for training, 20 % for validation and 20 % for
    testing. Images that the data set keeps for testing are for testing; of the others, 75 % are
    for training and 25 % for validation.

    Args:
        source: The images.
        seed: Seed of the split.
        class_weight: "balanced" for classes that count alike however many images they have.

    Raises:
        DataError: A class has too few images.
    """
    counts = source.labels.astype(object).value_counts()
    rarest, images = counts.index[-1], int(counts.iloc[-1])
    if images < _LEAST_IMAGES_OF_A_CLASS:
        raise DataError(
            f"the class {rarest!r} of {source.name} has {images} images, but train, validation and "
            f"test each need one: at least {_LEAST_IMAGES_OF_A_CLASS}; add images or remove the "
            "class"
        )
    task = Task.find(source.labels, np.arange(len(source.labels)), "classification")
    codes = task.codes(source.labels)
    if source.test is None:
        split = split_rows(len(codes), codes, seed)
    else:
        split = _official_split(codes, source.test, seed)
    weights, rarity = weigh_classes(source.labels, codes, class_weight)
    return Outline(task, split, weights, (rarity,) if rarity else ())


def encode_images(source: ImageSource, outline: Outline) -> Bundle[ImageEncoder]:
    """Encodes the images by what the train images say; inputs are [n, c, h, w], channels last.

    Args:
        source: The images.
        outline: Their classes and split.

    Raises:
        DataError: There is nothing to see on the train images.
    """
    encoder = ImageEncoder.fit(source.images, outline.split.train)

    def inputs(rows: np.ndarray) -> Tensor:
        return encoder.transform(source.images, rows)

    return bundle_parts(source.name, outline, encoder, inputs, source.labels)


def _official_split(codes: np.ndarray, test: np.ndarray, seed: int) -> Split:
    """Splits the images that are not kept for testing into train and validation images."""
    others = np.flatnonzero(~test)
    split = split_few(len(others), codes[others], seed, valid=_VALID_SHARE, test=0.0)
    return Split(others[split.train], others[split.valid], np.flatnonzero(test))
