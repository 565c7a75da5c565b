"""What comes into a network for several modalities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from meritnas.data.modalities.row_layout import Shape


@dataclass(frozen=True)
class ModalityInputs:
    """The modalities of a sample, in the order in which they stand in a row of inputs.

    Attributes:
        modalities: name -> the shapes of its features.
        pictures: the names of those that are pictures, of the shape (channels, h, w).
    """

    modalities: Mapping[str, tuple[Shape, ...]]
    pictures: tuple[str, ...] = ()
