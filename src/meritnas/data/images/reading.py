"""How images are read, and changed for training: settings that need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields, replace
from typing import Any, Literal, Self

from meritnas.data.pictures.asked_size import checked_size
from meritnas.settings.augment import Augment
from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading
from meritnas.settings.recipe import TrainRecipe


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
        skip_bad_rows: Leave out rows with too many fields, and pictures that cannot be read.
        skip_bad_files: The older name of that.
    """

    image_size: int | tuple[int, int] | None = field(
        default=None, metadata=shown(usual="as they are; pictures at most 64")
    )
    class_weight: Literal["balanced"] | None = field(default=None, metadata=shown(metavar="KIND"))
    crop: int | None = field(default=None, metadata=shown(usual="by preset"))
    flip: bool | None = field(default=None, metadata=shown(usual="with colours only"))
    cutout: int | None = field(default=None, metadata=shown(usual="by preset"))
    rotation: int | None = field(default=None, metadata=shown(usual="none, or as tried"))
    skip_bad_rows: bool = field(default=False, kw_only=True, metadata=shown(also="skip-bad-files"))
    skip_bad_files: InitVar[bool] = field(default=False, kw_only=True)

    def __post_init__(self, skip_bad_files: bool) -> None:
        if skip_bad_files is not False:
            object.__setattr__(self, "skip_bad_rows", skip_bad_files)
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
