"""Turns images into numbers by the colours of the training images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from meritnas.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

_CONSTANT = 1.0
"""Deviation of a channel that does not vary; those that vary are at most 0.5."""
_LEVELS = np.arange(256) / 255


@dataclass(frozen=True)
class ImageEncoder:
    """Turns images into network inputs, the same way for every file.

    Attributes:
        channels: 1 for grey, 3 for colours.
        height: Height of the images in pixels.
        width: Width of the images in pixels.
        mean: Mean of each channel over the train images, on a scale from 0 to 1.
        std: Standard deviation of each channel on that scale; 1 for one that does not vary.
    """

    kind: ClassVar[str] = "images"
    scalable: ClassVar[bool] = False

    channels: int
    height: int
    width: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def fit(cls, images: np.ndarray, rows: np.ndarray | None = None) -> ImageEncoder:
        """Takes the shape of images, and the mean and deviation of each channel.

        Args:
            images: Pixels uint8 [n, h, w, c].
            rows: Positions of the train images, None for all.

        Raises:
            DataError: All train images are of one plain colour.
        """
        _, height, width, channels = images.shape
        counts = np.zeros((channels, len(_LEVELS)), dtype=np.int64)
        for row in range(len(images)) if rows is None else rows:
            for channel in range(channels):
                pixels = images[row, :, :, channel].reshape(-1)
                counts[channel] += np.bincount(pixels, minlength=len(_LEVELS))
        shares = counts / counts.sum(axis=1, keepdims=True)
        mean = shares @ _LEVELS
        std = np.sqrt((shares * (_LEVELS - mean[:, None]) ** 2).sum(axis=1))
        constant = (counts > 0).sum(axis=1) == 1
        if constant.all():
            raise DataError(
                "all pixels of all train images are the same; there is nothing to learn, "
                "give images that differ"
            )
        std[constant] = _CONSTANT
        return cls(channels, height, width, tuple(mean.tolist()), tuple(std.tolist()))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of one input: channels, height, width."""
        return self.channels, self.height, self.width

    @property
    def inputs(self) -> tuple[int, int, int]:
        """What comes into a network: the shape of one input."""
        return self.shape

    @property
    def own_names(self) -> frozenset[str]:
        """What it has imported of a user's own: nothing."""
        return frozenset()

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each channel that tells nothing."""
        return tuple(
            f"channel {place} has one value in all train images"
            for place, std in enumerate(self.std)
            if std == _CONSTANT
        )

    def transform(self, images: np.ndarray, rows: np.ndarray | None = None) -> Tensor:
        """Encodes images.

        Args:
            images: Pixels uint8 [n, h, w, c] of the shape that was fitted.
            rows: Positions of the images to encode, None for all.

        Returns:
            Float32 [n, c, h, w] with about mean 0 and deviation 1, channels last in memory.

        Raises:
            DataError: The images have another shape.
        """
        import torch  # here: a run's encoder is read, and shown, without it

        expected = (self.height, self.width, self.channels)
        if images.ndim != 4 or images.shape[1:] != expected or images.dtype != np.uint8:
            raise DataError(
                f"images must be uint8 [n, {', '.join(map(str, expected))}] as those that were "
                f"learned from, got {images.dtype} {list(images.shape)}"
            )
        chosen = images if rows is None else images[rows]
        inputs = np.empty(chosen.shape, dtype=np.float32)
        for channel, (mean, std) in enumerate(zip(self.mean, self.std, strict=True)):
            values = ((_LEVELS - mean) / std).astype(np.float32)
            np.take(values, chosen[..., channel], out=inputs[..., channel])
        return torch.from_numpy(inputs).permute(0, 3, 1, 2)

    def pixels(self, inputs: Tensor) -> np.ndarray:
        """The images [n, h, w, c], uint8, that were encoded so."""
        scaled = inputs.permute(0, 2, 3, 1).double().numpy() * self.std + self.mean
        return np.clip(np.rint(scaled * 255), 0, 255).astype(np.uint8)

    def to_json(self) -> dict[str, Any]:
        """Returns the encoder as plain JSON values."""
        return {
            "kind": "image",
            "channels": self.channels,
            "height": self.height,
            "width": self.width,
            "mean": list(self.mean),
            "std": list(self.std),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ImageEncoder:
        """Returns the encoder that `to_json` gave."""
        return cls(
            value["channels"],
            value["height"],
            value["width"],
            tuple(value["mean"]),
            tuple(value["std"]),
        )
