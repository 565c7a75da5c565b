"""How images are read, and changed for training: settings that need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

from meritnas.errors import whole_number
from meritnas.settings.augment import MOST_PIXELS, Augment
from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading
from meritnas.settings.recipe import TrainRecipe

_LEAST_SIDE = 4


@dataclass(frozen=True)
class ImageReading(Reading):
    """What a user decides about images.

    Attributes:
        image_size: Pixels that images are resized to.
        class_weight: balanced: classes count alike, however rare.
        crop: Images are moved by up to so many pixels.
        flip: Whether half of them are mirrored.
        cutout: Side of a square that is blanked in each.
        rotation: Most degrees that each is turned by.
        skip_bad_files: Whether damaged files in a folder of pictures are left out.
    """

    image_size: int | tuple[int, int] | None = field(
        default=None, metadata=shown(usual="as they are; pictures at most 64")
    )
    class_weight: Literal["balanced"] | None = field(default=None, metadata=shown(metavar="KIND"))
    crop: int | None = field(default=None, metadata=shown(usual="by preset"))
    flip: bool | None = field(default=None, metadata=shown(usual="with colours only"))
    cutout: int | None = field(default=None, metadata=shown(usual="by preset"))
    rotation: int | None = field(default=None, metadata=shown(usual="none, or as tried"))
    skip_bad_files: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.image_size is not None:
            checked_size(self.image_size)
        Augment(**self.changes)

    @property
    def changes(self) -> dict[str, Any]:
        """What was decided about changes to training images, by the names of `Augment`."""
        names = [field.name for field in fields(Augment)]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def changed(self, recipe: TrainRecipe) -> TrainRecipe:
        """What is done to training images, as far as it was decided."""
        return replace(recipe, augment=replace(recipe.augment, **self.changes))

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        size = found.get("image_size")
        return cls(**{**found, "image_size": tuple(size) if isinstance(size, list) else size})


def checked_size(size: int | tuple[int, int]) -> tuple[int, int]:
    """Returns height and width that were asked for; one number is both.

    Raises:
        UsageError: A side is no whole number, below 4 or above 1,024.
    """
    height, width = size if isinstance(size, tuple) else (size, size)
    return (
        whole_number("image_size", height, _LEAST_SIDE, MOST_PIXELS),
        whole_number("image_size", width, _LEAST_SIDE, MOST_PIXELS),
    )
