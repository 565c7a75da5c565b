"""What is done to training images."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.errors import UsageError, whole_number


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
