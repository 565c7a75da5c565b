from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from meritnas.errors import DataError, UsageError, whole_number


@dataclass(frozen=True)
class Augment:
    """Random changes to training images that leave what they show as it is.

    The usual ones of CIFAR-10: a crop of the image with a border, a mirror image, and a square
    that is blotted out (cutout, DeVries and Taylor, 2017).

    Deviation: borders and squares are 0, which in normalised images is the mean colour; papers
    pad with black before they normalise.

    Attributes:
        crop: Pixels of border on each side before a random crop of the old size; 0 for none.
        flip: Whether every other image, on average, is mirrored left to right.
        cutout: Side of the square in pixels; 0 for none. Its centre is anywhere in the image, so
            that a part of it may lie outside.
    """

    crop: int = 0
    flip: bool = False
    cutout: int = 0

    def __post_init__(self) -> None:
        for name in ("crop", "cutout"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 0))
        if not isinstance(self.flip, bool):
            raise UsageError(f"flip must be True or False, got {self.flip!r}")

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.crop or self.flip or self.cutout)

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Changes each image in its own way.

        Args:
            images: [n, channels, height, width], normalised; never written to.
            generator: On the CPU, whatever the device of the images.

        Returns:
            Images of the same shape, their channels last in memory.

        Raises:
            DataError: These are no images, or they are not larger than the border.
        """
        if not self.changes:
            return images
        if images.ndim != 4 or min(images.shape[2:]) <= self.crop:
            raise DataError(
                f"a crop of {self.crop}, flip and cutout are for images [n, channels, height, "
                f"width] larger than the crop, got the shape {list(images.shape)}; leave them out"
            )
        n, channels, height, width = images.shape
        # One gather does everything: which pixel of the image with border is each new pixel?
        # What is blotted out is pixel 0, a corner of the border.
        border = max(self.crop, 1 if self.cutout else 0)
        bordered = F.pad(images.permute(0, 2, 3, 1), (0, 0, border, border, border, border))
        pixels = self._pixels(n, height, width, border, generator).to(images.device)
        found = bordered.reshape(-1, channels).index_select(0, pixels.flatten())
        return found.view(n, height, width, channels).permute(0, 3, 1, 2)

    def _pixels(
        self, n: int, height: int, width: int, border: int, generator: torch.Generator
    ) -> Tensor:
        """Which pixels of bordered images, all in a row, are the new ones [n, height, width]."""
        top = left = torch.full((n, 1), border)
        rows, columns = torch.arange(height).expand(n, -1), torch.arange(width).expand(n, -1)
        if self.crop:
            shifts = torch.randint(2 * self.crop + 1, (2, n, 1), generator=generator)
            top, left = shifts + (border - self.crop)
        if self.flip:
            mirrored = torch.rand(n, 1, generator=generator) < 0.5
            columns = torch.where(mirrored, width - 1 - columns, columns)
        first = torch.arange(n)[:, None] * (height + 2 * border)
        starts = (first + top + rows) * (width + 2 * border)
        pixels = starts[:, :, None] + (left + columns)[:, None, :]
        if self.cutout:
            blotted = self._span(height, n, generator)[:, :, None]
            blotted = blotted & self._span(width, n, generator)[:, None, :]
            pixels = torch.where(blotted, 0, pixels)
        return pixels

    def _span(self, length: int, n: int, generator: torch.Generator) -> Tensor:
        """Where a stretch of `cutout` around a random place lies [n, length]."""
        begin = torch.randint(length, (n, 1), generator=generator) - self.cutout // 2
        places = torch.arange(length)
        return (begin <= places) & (places < begin + self.cutout)
