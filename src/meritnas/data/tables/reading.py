"""How a table is read: settings that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from meritnas.data.metric_names import check_metric
from meritnas.errors import UsageError, told
from meritnas.settings.fields import shown
from meritnas.settings.reading import Reading

OVERRIDES = ("drop", "numeric", "categorical", "date")
"""Fields that name columns and say what is made of them."""

_COLUMNS = shown(metavar="COLUMN,COLUMN")


@dataclass(frozen=True)
class TableReading(Reading):
    """What a user decides about a table.

    Attributes:
        task: classification or regression.
        class_weight: balanced: classes count alike, however rare.
        scaling: Of numbers: standard, quantile, or auto to try both.
        skip_bad_rows: Leave out rows with too many fields, and pictures that cannot be read.
        drop: Columns to leave out.
        numeric: Columns to take as numbers; what is none counts as missing.
        categorical: Columns to take as categories.
        date: Columns to take as dates; what is none counts as missing.
        split: How rows are split: random, time=COLUMN for the latest to test on, group=COLUMN to
            keep rows of a group together.
        drop_missing_target: Leave out rows without a target.
        metric: What finalists are chosen by: accuracy, balanced_accuracy, log_loss, roc_auc,
            average_precision, f1; for numbers r2, rmse, mae, quantile=0.9.
        yardstick: Also score a trivial guess, a linear model and boosted trees on the same rows.
        stream: Read Parquet files in pieces, again and again, instead of all at once.
    """

    task: Literal["classification", "regression"] | None = field(
        default=None, metadata=shown(usual="found out", metavar="KIND")
    )
    class_weight: Literal["balanced"] | None = field(default=None, metadata=shown(metavar="KIND"))
    scaling: Literal["auto", "standard", "quantile"] = field(
        default="auto", metadata=shown(metavar="KIND")
    )
    skip_bad_rows: bool = field(default=False, metadata=shown(also="skip-bad-files"))
    drop: tuple[str, ...] = field(default=(), metadata=_COLUMNS)
    numeric: tuple[str, ...] = field(default=(), metadata=_COLUMNS)
    categorical: tuple[str, ...] = field(default=(), metadata=_COLUMNS)
    date: tuple[str, ...] = field(default=(), metadata=_COLUMNS)
    split: str = field(default="random", metadata=shown(metavar="WAY"))
    drop_missing_target: bool = False
    metric: str | None = field(default=None, metadata=shown(usual="the loss", metavar="NAME"))
    yardstick: bool | None = field(
        default=None, metadata=shown(usual="on; compare and estimators: off")
    )
    stream: bool | None = field(
        default=None, metadata=shown(usual="where it is more than a quarter of memory")
    )

    def __post_init__(self) -> None:
        for name in OVERRIDES:
            if isinstance(own := getattr(self, name), str):
                object.__setattr__(self, name, (own,))
        super().__post_init__()
        for name in OVERRIDES:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_overrides()
        if self.metric is not None:
            check_metric(self.metric)
        way, mark, column = self.split.partition("=")
        if self.split != "random" and (way not in ("time", "group") or not mark or not column):
            raise UsageError(
                "split must be random, time=COLUMN or group=COLUMN, as in time=day; got "
                f"{told(self.split)}"
            )

    @property
    def split_by(self) -> tuple[str, str]:
        """How rows are split, and by which column: `time` or `group`, or `random` by none."""
        way, _, column = self.split.partition("=")
        return way, column

    def _check_overrides(self) -> None:
        """Complain about a column that is named twice."""
        found: dict[str, str] = {}
        for name in OVERRIDES:
            for column in getattr(self, name):
                if found.setdefault(column, name) != name:
                    raise UsageError(
                        f"the column {told(column)} is named in {found[column]} and in {name}; "
                        "leave it out of one of them"
                    )
