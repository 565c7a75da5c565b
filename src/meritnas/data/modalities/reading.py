"""How several modalities are read: settings that need no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from meritnas.data.pictures.asked_size import checked_size
from meritnas.plugins import importable_name
from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading


@dataclass(frozen=True)
class ModalityReading(Reading):
    """What a user decides about several modalities.

    Attributes:
        task: classification or regression.
        class_weight: balanced: classes count alike, however rare.
        modalities: A modality to use, instead of all; for a table NAME=COLUMN,COLUMN. May be
            repeated.
        text_form: How texts become numbers: counted or hashed n-grams.
        text_columns: How many numbers a text becomes.
        frozen_backbones: A network that reads a modality first and is not trained: its features
            are computed once. May be repeated.
        image_size: Pixels that images are resized to.
        skip_bad_rows: Leave out rows with too many fields, and pictures that cannot be read.
        robust: Networks learn on, and are chosen by, samples with noise and missing modalities.
    """

    task: Literal["classification", "regression"] | None = field(
        default=None, metadata=shown(usual="found out", metavar="KIND")
    )
    class_weight: Literal["balanced"] | None = field(default=None, metadata=shown(metavar="KIND"))
    modalities: Sequence[str] | Mapping[str, Sequence[str]] | None = field(
        default=None, metadata=shown(flag="modality", metavar="NAME")
    )
    text_form: Literal["counted", "hashed"] = field(
        default="counted", metadata=shown(metavar="NAME")
    )
    text_columns: int = field(default=1024, metadata=shown(least=1, most=1_000_000))
    frozen_backbones: Mapping[str, str | Callable[[], Any]] = field(
        default_factory=dict,
        metadata=shown(flag="frozen-backbone", metavar="NAME=MODULE:FUNCTION"),
    )
    image_size: int | tuple[int, int] | None = field(
        default=None, metadata=shown(usual="as they are; pictures at most 64")
    )
    skip_bad_rows: bool = field(default=False, metadata=shown(also="skip-bad-files"))
    robust: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.image_size is not None:
            checked_size(self.image_size)
        object.__setattr__(self, "modalities", _plain(self.modalities))
        object.__setattr__(self, "frozen_backbones", self.backbones)

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Height and width of pictures that a column names; None for the most common one."""
        return None if self.image_size is None else checked_size(self.image_size)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        size = found.get("image_size")
        return cls(**{**found, "image_size": tuple(size) if isinstance(size, list) else size})

    @property
    def backbones(self) -> dict[str, str]:
        """The frozen backbones, each by the name `module:function`."""
        return {
            each: importable_name(own, "backbone") for each, own in self.frozen_backbones.items()
        }

    @property
    def own_names(self) -> frozenset[str]:
        """The backbones, which are all a user's own."""
        return frozenset(self.backbones.values())


def _plain(
    given: Sequence[str] | Mapping[str, Sequence[str]] | None,
) -> list[str] | dict[str, str | list[str]] | None:
    """Modalities as JSON has them."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return list(given)
    return {
        name: columns if isinstance(columns, str) else list(columns)
        for name, columns in given.items()
    }
