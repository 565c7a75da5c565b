"""How a table is read: settings that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading


@dataclass(frozen=True)
class TableReading(Reading):
    """What a user decides about a table.

    Attributes:
        task: classification or regression.
        class_weight: balanced: classes count alike, however rare.
        scaling: Of numbers: standard, quantile, or auto to try both.
        skip_bad_rows: Leave out rows of a file with too many fields.
    """

    task: Literal["classification", "regression"] | None = field(
        default=None, metadata=shown(usual="found out", metavar="KIND")
    )
    class_weight: Literal["balanced"] | None = field(default=None, metadata=shown(metavar="KIND"))
    scaling: Literal["auto", "standard", "quantile"] = field(
        default="auto", metadata=shown(metavar="KIND")
    )
    skip_bad_rows: bool = False
