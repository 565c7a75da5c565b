"""What is done to training images."""

from __future__ import annotations

from dataclasses import dataclass, field

from meritnas.settings.checks import check_fields
from meritnas.settings.fields import shown

MOST_PIXELS = 1024
"""Of a side of images, and of what is done to them."""


@dataclass(frozen=True)
class Augment:
    """Random changes to training images that leave what they show as it is.

    The usual ones of CIFAR-10, a crop of the image with a border, a mirror image, and a square
    that is blotted out (cutout, DeVries and Taylor, 2017); and turns about the centre.

    Deviation: borders and squares are 0, which in normalised images is the mean colour; papers
    pad with black before they normalise.

    Attributes:
        crop: Pixels of border on each side before a random crop of the old size; 0 for none.
        flip: Whether every other image, on average, is mirrored left to right.
        cutout: Side of the square in pixels; 0 for none. Its centre is anywhere in the image, so
            that a part of it may lie outside.
        rotation: Most degrees that an image is turned by, to either side; 0 for none.
    """

    crop: int = field(default=0, metadata=shown(least=0, most=MOST_PIXELS))
    flip: bool = False
    cutout: int = field(default=0, metadata=shown(least=0, most=MOST_PIXELS))
    rotation: int = field(default=0, metadata=shown(least=0, most=180))

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.crop or self.flip or self.cutout or self.rotation)
