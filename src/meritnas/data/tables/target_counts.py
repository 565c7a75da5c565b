"""The target of a table that is not in memory: labels or numbers, counted piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.number_sketch import NumberSketch
from meritnas.data.files.parquet_table import ParquetTable
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.labels import (
    Label,
    are_codes,
    classes_of,
    guess_note,
    rare_class_note,
    target_numbers,
)
from meritnas.data.tables.row_places import row_places
from meritnas.data.task import Task, check_task_kind, check_varying
from meritnas.errors import DataError

MOST_CLASSES = 10_000
"""More labels than these are not counted: they are no classes."""


@dataclass
class TargetCounts:
    """What is kept of a target column.

    Attributes:
        name: The column's.
        numeric: Whether it holds numbers.
        rows: How many there are.
        labels: How many rows each label has, and how many training rows; None where there are more
            than `MOST_CLASSES`.
        numbers: Of a target that holds numbers.
        low: The smallest of these.
        high: The largest.
    """

    name: str
    numeric: bool = True
    rows: int = 0
    labels: dict[Label, tuple[int, int]] | None = None
    numbers: NumberSketch | None = None
    low: float = np.inf
    high: float = -np.inf

    @staticmethod
    def of(table: ParquetTable, target: str, split: HashedSplit | None) -> TargetCounts:
        """Reads the whole column; without a split all rows are for training.

        Raises:
            DataError: Values are missing.
        """
        found = TargetCounts(target, labels={}, numbers=NumberSketch())
        missing = 0
        for place, group in enumerate(table.groups):
            values = table.read(place, {target})[target]
            train = np.ones(group.rows, bool)
            if split is not None:
                train = split.is_train(row_places(table, place, split))
            missing += int(values.isna().sum())
            if not missing:
                found._add(values, train)
        if missing:
            raise DataError(
                f"the target '{target}' is missing in {missing} of {table.rows} rows of "
                f"{table.path.name}; drop these rows"
            )
        return found

    def _add(self, values: pd.Series, train: np.ndarray) -> None:
        self.rows += len(values)
        self.numeric &= types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values)
        if self.labels is not None:
            self._count(values, train, self.labels)
        if not self.numeric:
            self.numbers = None
        if self.numbers is not None:
            numbers = target_numbers(values)
            self.low, self.high = min(self.low, numbers.min()), max(self.high, numbers.max())
            self.numbers.add(numbers, train, self.name)

    def _count(
        self, values: pd.Series, train: np.ndarray, labels: dict[Label, tuple[int, int]]
    ) -> None:
        every = values.astype(object).value_counts()
        of_train = values[train].astype(object).value_counts()
        for label, count in every.items():
            plain = label.item() if isinstance(label, np.generic) else label
            before = labels.get(plain, (0, 0))
            labels[plain] = before[0] + count, before[1] + int(of_train.get(label, 0))
        if len(labels) > MOST_CLASSES:
            self.labels = None

    @property
    def counts(self) -> pd.Series:
        """How many rows each label has, the most frequent first."""
        assert self.labels is not None
        found = {label: counts[0] for label, counts in self.labels.items()}
        return pd.Series(
            list(found.values()), index=pd.Index(list(found), dtype=object)
        ).sort_values(ascending=False, kind="stable")

    def task(self, kind: str | None, metric: str | None = None) -> Task:
        """What is predicted, by the same rules as `Task.find`, and what finalists are chosen by.

        Raises:
            DataError: Nothing can be learned from this column.
        """
        check_task_kind(kind)
        named = not self.numeric or (self.labels is not None and self._are_codes())
        if kind == "classification" or (kind is None and named):
            if self.labels is None:
                raise DataError(
                    f"the target '{self.name}' has more than {MOST_CLASSES:,} classes and looks "
                    "like an identifier; name another column, or ask for regression if it holds "
                    "numbers"
                )
            found = Task.of_classes(self.name, classes_of(self.counts, self.name))
            share = self.labels[found.classes[1]][0] / self.rows
            return found.judged_by(metric, np.array([share]))
        if self.numbers is None:
            raise DataError(
                f"the target '{self.name}' holds text, which is no number to predict; leave out "
                "the task, or write numbers"
            )
        check_varying(self.low, self.high, self.name)
        far = self.numbers.far_values()
        if far is not None:
            raise DataError(
                f"the target '{self.name}' holds {far.example:g} in {far.count:,} rows, while the "
                f"others are at most {far.others:g}; such a number usually stands for a missing "
                "one, correct or drop these rows"
            )
        seen = self.numbers.all_of_train
        found = Task("regression", self.name, (), seen.mean, seen.deviation)
        return found.judged_by(metric, np.zeros(0))

    def _are_codes(self) -> bool:
        return are_codes(np.array(list(self.labels or ()), dtype=np.float64), self.rows)

    def class_weights(self, task: Task, class_weight: str | None) -> np.ndarray | None:
        """How much a row of each class counts [classes], before it is 1 on average over a part.

        As scikit-learn's `balanced`; None where all count alike.

        Raises:
            DataError: There is no such way to weigh, or there are no classes.
        """
        if class_weight is None:
            return None
        if class_weight != "balanced":
            raise DataError(f"class_weight must be 'balanced', or left out, got '{class_weight}'")
        if not task.classes:
            raise DataError(
                f"class_weight weighs classes, but the target '{self.name}' is a number; "
                "leave it out"
            )
        assert self.labels is not None
        counts = np.array([self.labels[label][0] for label in task.classes])
        return self.rows / (len(counts) * counts)

    def notes(self, task: Task, kind: str | None, weighed: bool) -> tuple[str, ...]:
        """What a user should know about the target, a sentence each."""
        if not task.classes:
            return ()
        labels = pd.Series(list(task.classes), name=self.name)
        guess = guess_note(labels, task.classes) if kind is None else ""
        rarity = "" if weighed else rare_class_note(self.counts, self.name)
        return tuple(note for note in (guess, rarity) if note)
