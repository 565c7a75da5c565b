"""Pictures that the cells of a column name, once they were read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

_MOST_TOLD = 5


@dataclass(frozen=True)
class NamedPictures:
    """Pictures that the cells of a column name.

    Attributes:
        column: The column.
        images: Pixels uint8 [n, h, w, 1 or 3]; zeros where there is none.
        present: Whether a row has a picture that can be read, bool [n].
        bad: Row -> why its picture cannot be read.
        notes: What a user should know about how they were read, a sentence each.
    """

    column: str
    images: np.ndarray
    present: np.ndarray
    bad: Mapping[int, str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.images)

    def take(self, rows: np.ndarray) -> NamedPictures:
        """Those of some rows, given by their positions or by yes and no."""
        places = np.arange(len(self))[rows].tolist()
        bad = {place: self.bad[row] for place, row in enumerate(places) if row in self.bad}
        return replace(self, images=self.images[rows], present=self.present[rows], bad=bad)

    def complaint(self) -> str:
        """Which rows have no picture although they name one, and why; empty where all have."""
        if not self.bad:
            return ""
        rows = [f"row {row + 1} ({why})" for row, why in sorted(self.bad.items())]
        named = len(self.bad) + int(self.present.sum())
        return (
            f"column '{self.column}': {len(rows):,} of {named:,} pictures cannot be read: "
            f"{'; '.join(rows[:_MOST_TOLD])}"
            f"{f'; and {len(rows) - _MOST_TOLD:,} more' if len(rows) > _MOST_TOLD else ''}"
        )
