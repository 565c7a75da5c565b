"""How several modalities are read: settings that need no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from meritnas.errors import UsageError, whole_number
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
    text_columns: int = 1024
    frozen_backbones: Mapping[str, str | Callable[[], Any]] = field(
        default_factory=dict,
        metadata=shown(flag="frozen-backbone", metavar="NAME=MODULE:FUNCTION"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "modalities", _plain(self.modalities))
        object.__setattr__(self, "frozen_backbones", self.backbones)
        columns = whole_number("text_columns", self.text_columns, 1)
        object.__setattr__(self, "text_columns", columns)
        if self.text_form not in ("counted", "hashed"):
            raise UsageError(f"text_form must be counted or hashed, got '{self.text_form}'")

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
