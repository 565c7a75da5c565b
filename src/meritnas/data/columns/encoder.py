"""Turns the rows of a table into numbers, as was decided about each column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.decimal_marks import Mark
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.columns.names import columns_by_name, is_unnamed, lacking_columns
from meritnas.data.columns.number_column import NumberColumn
from meritnas.data.columns.row_inputs import write_inputs
from meritnas.data.columns.sorting import (
    AS_ASKED,
    Column,
    DroppedColumn,
    Rules,
    decide_category,
    decide_column,
    decide_unnamed,
    is_three_codes,
)
from meritnas.errors import DataError, UsageError, whole_number
from meritnas.wording import listed

if TYPE_CHECKING:
    from meritnas.data.task import Task

__all__ = [
    "CategoryColumn",
    "ColumnRow",
    "DateColumn",
    "DroppedColumn",
    "NumberColumn",
    "TableEncoder",
]

_MOST_KNOTS = 256
_MOST_KNOTS_IN_ALL = 400_000
_LEAST_KNOTS = 16
_MUCH = 0.1
_ROWS_AT_ONCE = 1 << 17


class ColumnRow(NamedTuple):
    """What was decided about one column, for people."""

    column: str
    taken_as: str
    details: str


def target_row(task: Task) -> ColumnRow:
    """What is predicted, as a row beside those of the columns."""
    if task.kind == "regression":
        details = f"a number, mean {task.mean:.3g}, sd {task.scale:.3g}"
    else:
        details = f"{len(task.classes)} classes: {listed(task.classes, most=10)}"
    return ColumnRow(task.target, "target", details)


@dataclass(frozen=True)
class TableEncoder:
    """Turns the rows of a table into network inputs, the same way for every file.

    The inputs are, in this order: a number for each number column; the several numbers of each
    date column; a missing indicator for each number column that has one, then for each date
    column that has one; a code for each category column.

    Attributes:
        number_columns: Columns taken as numbers, in the order of their inputs.
        category_columns: Columns taken as categories, in the order of their inputs.
        dropped: Columns left out.
        date_columns: Columns taken as dates, in the order of their inputs.
        decimal: The decimal mark of the file, if it told; `read_table` takes it for new files.
    """

    kind: ClassVar[str] = "table"

    number_columns: tuple[NumberColumn, ...]
    category_columns: tuple[CategoryColumn, ...]
    dropped: tuple[DroppedColumn, ...]
    date_columns: tuple[DateColumn, ...] = ()
    decimal: Mark | None = None

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        rows: np.ndarray | None = None,
        scaling: Literal["standard", "quantile"] = "standard",
        most_categories: int | None = None,
        asked: Mapping[str, str] | None = None,
    ) -> TableEncoder:
        """Decides on each column as `decide_column` says.

        In a table where at least half of the number columns hold exactly three whole values each
        (the squares of a board, coded 0, 1, 2), those columns are categories: codes have no order.
        A first column without a name that only tells rows apart is left out.

        Args:
            frame: The table without the target column.
            rows: Positions of the train rows, None for all.
            scaling: "standard", or "quantile" to map numbers to about a normal distribution (see
                `quantile_knots`), which suits long tails.
            most_categories: Most categories to keep in a column, the most frequent ones.
            asked: Name -> what a user wants a column to be taken as (`sorting.NUMERIC` and the
                like), or why it is left out.

        Raises:
            DataError: A column holds infinite values, is not what a user says, or no column can be
                used.
            UsageError: There is no such scaling, or no category may be kept.
        """
        train = None if rows is None else np.asarray(rows)
        mark = frame.attrs.get("decimal")
        rules = make_rules(frame.shape[1], scaling, most_categories, asked, mark, train)
        columns = columns_by_name(frame)
        decisions = [
            decide_unnamed(name, values, rules)
            if place == 0 and is_unnamed(name)
            else decide_column(name, values, rules)
            for place, (name, values) in enumerate(columns.items())
        ]
        decisions = _three_codes_as_categories(columns, decisions, rules)
        return cls.of_columns(decisions, mark)

    @classmethod
    def of_columns(cls, decisions: Sequence[Column], decimal: Mark | None = None) -> TableEncoder:
        """What encodes columns that were decided on, in the order of the table.

        Raises:
            DataError: No column can be used.
        """
        encoder = cls(
            tuple(column for column in decisions if isinstance(column, NumberColumn)),
            tuple(column for column in decisions if isinstance(column, CategoryColumn)),
            tuple(column for column in decisions if isinstance(column, DroppedColumn)),
            tuple(column for column in decisions if isinstance(column, DateColumn)),
            decimal,
        )
        if encoder.width == 0:
            reasons = listed(f"'{column.name}' ({column.reason})" for column in encoder.dropped)
            raise DataError(
                f"no column is left to learn from: {reasons or 'there is only the target'}; "
                "give a table with at least one varying column besides the target"
            )
        return encoder

    @property
    def numbers(self) -> int:
        """Number of number inputs: of number columns, of date columns, missing indicators."""
        dates = sum(column.inputs for column in self.date_columns)
        return len(self.number_columns) + dates + len(self.flagged)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each category column, with code 0 for missing, unseen or rare."""
        return tuple(len(column.categories) + 1 for column in self.category_columns)

    @property
    def inputs(self) -> TableInputs:
        """What comes into a network."""
        return TableInputs(
            self.numbers,
            self.cardinalities,
            names=self.input_names,
            thresholds=tuple(column.thresholds for column in self.number_columns),
        )

    @property
    def width(self) -> int:
        """Number of inputs in all."""
        return self.numbers + len(self.category_columns)

    @property
    def input_names(self) -> tuple[str, ...]:
        """What each input is, in their order: `age`, `day_month_sin`, `age_missing`, `city`."""
        return (
            *(column.name for column in self.number_columns),
            *(name for column in self.date_columns for name in column.input_names),
            *(f"{name}_missing" for name in self.flagged),
            *(column.name for column in self.category_columns),
        )

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that it needs."""
        return frozenset(column.name for column in self._used_columns)

    @property
    def flagged(self) -> tuple[str, ...]:
        """The columns that have a missing indicator, in the order of these."""
        numbers = [column.name for column in self.number_columns if column.indicator]
        return (*numbers, *(column.name for column in self.date_columns if column.indicator))

    @property
    def places(self) -> dict[str, list[int]]:
        """Where the inputs of each column stand; the last is its missing indicator, if any."""
        found = {column.name: [place] for place, column in enumerate(self.number_columns)}
        place = len(found)
        for date in self.date_columns:
            found[date.name] = list(range(place, place + date.inputs))
            place += date.inputs
        for name in self.flagged:
            found[name].append(place)
            place += 1
        for category in self.category_columns:
            found[category.name] = [place]
            place += 1
        return found

    @property
    def scalable(self) -> bool:
        """Whether it makes a difference how numbers are scaled."""
        return any(not column.two_valued for column in self.number_columns)

    @property
    def own_names(self) -> frozenset[str]:
        """What it has imported of a user's own: nothing."""
        return frozenset()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about columns that are left out, cells that are not read, pooled categories."""
        unwanted = [c for c in self.dropped if c.reason != AS_ASKED]
        left_out = (f"column '{c.name}' is left out: {c.reason}" for c in unwanted)
        pooled = (
            f"column '{c.name}' has {c.rare:,} rare categories ({100 * c.rare_share:.0f} % of its "
            "values) that share one embedding"
            for c in self.category_columns
            if c.rare_share > _MUCH
        )
        cells = (text for c in self.number_columns for text in c.warnings)
        dates = (c.warning for c in self.date_columns if c.warning)
        return (*left_out, *cells, *dates, *pooled)

    def describe(self) -> list[ColumnRow]:
        """Returns what was decided about each column, in the order of the inputs."""
        left_out = [ColumnRow(c.name, "left out", c.reason) for c in self.dropped]
        return [
            *(ColumnRow(c.name, "number", c.details) for c in self.number_columns),
            *(ColumnRow(c.name, "date", c.details) for c in self.date_columns),
            *(ColumnRow(c.name, "category", c.details) for c in self.category_columns),
            *left_out,
        ]

    def unfamiliar(self, frame: pd.DataFrame) -> list[str]:
        """Returns a sentence for each column that is mostly not like the train rows were, or far.

        Raises:
            DataError: As `transform` does.
        """
        columns = self._needed(frame)
        notes = [column.unfamiliar(columns[column.name]) for column in self._used_columns]
        return [note for note in notes if note]

    def transform(self, frame: pd.DataFrame, rows: np.ndarray | None = None) -> np.ndarray:
        """Encodes rows; the order of columns and further columns do not matter.

        Besides the frame and the result, only a part of one column is in memory.

        Args:
            frame: The table.
            rows: Positions of the rows to encode, None for all.

        Returns:
            Float32 [n, width], laid out as the class says: numbers are scaled with missing values
            at 0, indicators are 0 or 1, codes are 0 for missing, unseen or rare categories.

        Raises:
            DataError: A column is missing, or a value is not a finite number or not a date.
        """
        columns = self._needed(frame)
        inputs = np.empty((len(frame) if rows is None else len(rows), self.width), np.float32)
        for start in range(0, len(inputs), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            self._encode(columns, part if rows is None else rows[part], inputs[part])
        return inputs

    def _encode(
        self, columns: dict[str, pd.Series], rows: slice | np.ndarray, inputs: np.ndarray
    ) -> None:
        """Writes the inputs of some rows."""
        ordered: Iterable[NumberColumn | DateColumn] = chain(self.number_columns, self.date_columns)
        measured = (
            (found, missing if column.indicator else None)
            for column in ordered
            for found, missing in (column.encode(columns[column.name].iloc[rows]),)
        )
        coded = (c.encode(columns[c.name].iloc[rows]) for c in self.category_columns)
        write_inputs(inputs, measured, coded)

    def to_json(self) -> dict[str, Any]:
        """Returns the encoder as plain JSON values; floats keep every bit."""
        return {
            "numbers": [column.to_json() for column in self.number_columns],
            "dates": [column.to_json() for column in self.date_columns],
            "categories": [column.to_json() for column in self.category_columns],
            "dropped": [asdict(column) for column in self.dropped],
            "decimal": self.decimal,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TableEncoder:
        """Returns the encoder that `to_json` gave, also of older versions."""
        return cls(
            tuple(NumberColumn.from_json(column) for column in value["numbers"]),
            tuple(CategoryColumn.from_json(column) for column in value["categories"]),
            tuple(DroppedColumn(**column) for column in value["dropped"]),
            tuple(DateColumn.from_json(column) for column in value.get("dates", ())),
            value.get("decimal"),
        )

    @property
    def _used_columns(self) -> Iterator[NumberColumn | DateColumn | CategoryColumn]:
        yield from self.number_columns
        yield from self.date_columns
        yield from self.category_columns

    def _needed(self, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """Returns the columns of a frame by name, which must be all that are needed."""
        columns = columns_by_name(frame)
        absent = [column.name for column in self._used_columns if column.name not in columns]
        if absent:
            raise lacking_columns(absent, columns)
        return columns


def make_rules(
    columns: int,
    scaling: str,
    most_categories: int | None = None,
    asked: Mapping[str, str] | None = None,
    mark: Mark | None = None,
    rows: np.ndarray | None = None,
) -> Rules:
    """By what so many columns are decided on.

    Args:
        columns: How many there are.
        scaling: As in `TableEncoder.fit`.
        most_categories: As in `TableEncoder.fit`.
        asked: As in `TableEncoder.fit`.
        mark: The decimal mark of the file, if it told.
        rows: Positions of the train rows, None for all.

    Raises:
        UsageError: There is no such scaling, or no category may be kept.
    """
    if scaling not in ("standard", "quantile"):
        raise UsageError(f"no scaling '{scaling}'; use 'standard' or 'quantile'")
    if most_categories is not None:
        whole_number("most_categories", most_categories, least=1)
    knots = min(_MOST_KNOTS, max(_LEAST_KNOTS, _MOST_KNOTS_IN_ALL // max(1, columns)))
    most_knots = knots if scaling == "quantile" else 0
    return Rules(rows, most_knots, most_categories, mark, asked or {})


def _three_codes_as_categories(
    columns: dict[str, pd.Series], decisions: list[Column], rules: Rules
) -> list[Column]:
    numbers = [column for column in decisions if isinstance(column, NumberColumn)]
    open_ = [column for column in numbers if column.name not in rules.asked]
    coded = {c.name for c in open_ if is_three_codes(c, columns[c.name], rules.rows)}
    if 2 * len(coded) < len(numbers):
        return decisions
    return [
        decide_category(column.name, columns[column.name], rules)
        if column.name in coded
        else column
        for column in decisions
    ]
