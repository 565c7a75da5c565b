"""Random changes to training images: crop, mirror image, turn, cutout."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from meritnas.devices.placement import beside
from meritnas.errors import DataError
from meritnas.settings.augment import Augment


def augmented(images: Tensor, augment: Augment, generator: torch.Generator) -> Tensor:
    """Changes each image in its own way.

    Args:
        images: [n, channels, height, width], normalised; never written to.
        augment: What is done to them.
        generator: On the CPU, whatever the device of the images.

    Returns:
        Images of the same shape, their channels last in memory.

    Raises:
        DataError: These are no images, or they are not larger than the border.
    """
    if not augment.changes:
        return images
    if images.ndim != 4 or min(images.shape[2:]) <= augment.crop:
        raise DataError(
            f"a crop of {augment.crop}, flip, rotation and cutout are for images [n, channels, "
            f"height, width] larger than the crop, got the shape {list(images.shape)}; leave them "
            "out"
        )
    if augment.rotation:
        images = _turned(images, augment.rotation, generator)
    if augment == Augment(rotation=augment.rotation):
        return images
    n, channels, height, width = images.shape
    # One gather does everything: which pixel of the image with border is each new pixel?
    # What is blotted out is pixel 0, a corner of the border.
    border = max(augment.crop, 1 if augment.cutout else 0)
    bordered = F.pad(images.permute(0, 2, 3, 1), (0, 0, border, border, border, border))
    pixels = beside(_pixels(augment, n, height, width, border, generator), images)
    found = bordered.reshape(-1, channels).index_select(0, pixels.flatten())
    return found.view(n, height, width, channels).permute(0, 3, 1, 2)


def _turned(images: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Each image turned about its centre; what comes in at the corners is 0, the mean colour."""
    n, _, height, width = images.shape
    angles = torch.deg2rad((2 * torch.rand(n, generator=generator) - 1) * most)
    cos, sin, zero = angles.cos(), angles.sin(), torch.zeros(n)
    # In units of half a side, of which the two of a picture may differ.
    first = torch.stack([cos, -sin * height / width, zero], dim=1)
    second = torch.stack([sin * width / height, cos, zero], dim=1)
    places = F.affine_grid(torch.stack([first, second], dim=1), list(images.shape), False)
    places = beside(places, images).to(images.dtype)
    turned = F.grid_sample(images, places, "bilinear", "zeros", False)
    return turned.contiguous(memory_format=torch.channels_last)


def _pixels(
    augment: Augment, n: int, height: int, width: int, border: int, generator: torch.Generator
) -> Tensor:
    """Which pixels of bordered images, all in a row, are the new ones [n, height, width]."""
    top = left = torch.full((n, 1), border)
    rows, columns = torch.arange(height).expand(n, -1), torch.arange(width).expand(n, -1)
    if augment.crop:
        shifts = torch.randint(2 * augment.crop + 1, (2, n, 1), generator=generator)
        top, left = shifts + (border - augment.crop)
    if augment.flip:
        mirrored = torch.rand(n, 1, generator=generator) < 0.5
        columns = torch.where(mirrored, width - 1 - columns, columns)
    first = torch.arange(n)[:, None] * (height + 2 * border)
    starts = (first + top + rows) * (width + 2 * border)
    pixels = starts[:, :, None] + (left + columns)[:, None, :]
    if augment.cutout:
        blotted = _span(augment.cutout, height, n, generator)[:, :, None]
        blotted = blotted & _span(augment.cutout, width, n, generator)[:, None, :]
        pixels = torch.where(blotted, 0, pixels)
    return pixels


def _span(cutout: int, length: int, n: int, generator: torch.Generator) -> Tensor:
    """Where a stretch of `cutout` around a random place lies [n, length]."""
    begin = torch.randint(length, (n, 1), generator=generator) - cutout // 2
    places = torch.arange(length)
    return (begin <= places) & (places < begin + cutout)
