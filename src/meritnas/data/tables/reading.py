"""How a table is read: settings that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from meritnas.errors import UsageError
from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading

SCALINGS = ("auto", "standard", "quantile")


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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scaling not in SCALINGS:
            raise UsageError(
                f"the scaling must be {', '.join(SCALINGS[:-1])} or {SCALINGS[-1]}, "
                f"got '{self.scaling}'"
            )
