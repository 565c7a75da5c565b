"""What is predicted in a table and how its rows are split, found without torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from meritnas.data.bundled import BUNDLED
from meritnas.data.columns.as_dates import Dates, find_dates, seconds_of
from meritnas.data.columns.as_numbers import as_numbers
from meritnas.data.columns.distinct import find_distinct
from meritnas.data.columns.measured import find_written
from meritnas.data.labels import guess_note
from meritnas.data.split import Split, split_by_group, split_by_time, split_rows
from meritnas.data.tables.asked_columns import asked_columns
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import Source
from meritnas.data.task import Task
from meritnas.errors import DataError
from meritnas.wording import listed


@dataclass(frozen=True)
class TablePlan:
    """What is settled about a table before its columns are looked at.

    Attributes:
        task: What is predicted.
        split: Which rows are for what.
        labels: Class number of each row [n]; None for a number to predict.
        asked: What a user says about columns, as `asked_columns` has it.
        notes: What a user should know, a sentence each.
    """

    task: Task
    split: Split
    labels: np.ndarray | None
    asked: dict[str, str]
    notes: tuple[str, ...]


def plan_table(source: Source, seed: int, reading: TableReading) -> TablePlan:
    """Finds the task and splits the rows.

    Raises:
        DataError: The target cannot be learned, or rows cannot be split as asked.
    """
    values, kind = source.frame[source.target], reading.task
    asked = asked_columns(reading, source.frame.columns, source.target)
    # The classes must be known to split by them, the train rows to scale a regression target.
    task = Task.find(values, np.arange(len(values)), kind)
    labels = None if task.kind == "regression" else task.codes(values)
    split, note = _split(source.frame, labels, seed, reading)
    if labels is None:
        task = Task.find(values, split.train, kind)
    task = task.judged_by(reading.metric, values[:0].to_numpy() if labels is None else labels)
    guessed = kind is None and source.location not in BUNDLED
    guess = guess_note(values, task.classes) if guessed else ""
    unlearned = "" if labels is None else _check_classes(task, labels, split)
    notes = tuple(text for text in (guess, note, unlearned) if text)
    return TablePlan(task, split, labels, asked, notes)


def _split(
    frame: pd.DataFrame, labels: np.ndarray | None, seed: int, reading: TableReading
) -> tuple[Split, str]:
    """Which rows are for what, and a sentence about it."""
    way, column = reading.split_by
    if way == "time":
        times = _times(frame[column])
        split = split_by_time(times)
        missing = int(np.isnan(times).sum())
        without = f"; {missing:,} rows without one are for training" if missing else ""
        return split, (
            f"rows are split by '{column}': trained on the earliest {len(split.train):,}, networks "
            f"compared on the next {len(split.valid):,}, tested on the last {len(split.test):,}"
            f"{without}"
        )
    if way == "group":
        groups = find_distinct(frame[column]).codes
        split = split_by_group(groups, labels, seed)
        counts = [len(np.unique(groups[part])) for part in (split.train, split.valid, split.test)]
        return split, (
            f"rows are split by '{column}': {counts[0]:,} groups to train on, {counts[1]:,} to "
            f"compare networks on, {counts[2]:,} to test on; it is no input itself"
        )
    return split_rows(len(frame), labels, seed), ""


def _times(values: pd.Series) -> np.ndarray:
    """A column that tells the order of rows, as float64 [n], NaN for missing.

    Raises:
        DataError: It holds neither numbers nor dates.
    """
    dates = find_dates(values)
    if isinstance(dates, Dates):
        return seconds_of(dates.of(None))
    numbers = as_numbers(values)[0]
    if numbers is None:
        distinct = find_distinct(values)
        written = find_written(distinct, None)
        numbers = None if written is None else written.read(distinct)[0]
    if numbers is None or np.isinf(numbers).any():
        why = f": {dates}" if isinstance(dates, str) else ""
        raise DataError(
            f"rows cannot be split by the time '{values.name}': it must hold dates or finite "
            f"numbers{why}"
        )
    return numbers


def _check_classes(task: Task, labels: np.ndarray, split: Split) -> str:
    """A sentence about classes without a training row; complains where only one has any."""
    codes = labels.astype(np.int64)
    there = np.unique(codes[split.train])
    if len(there) < 2:
        raise DataError(
            f"all training rows have the class {task.classes[there[0]]!r} of '{task.target}'; "
            "split the rows otherwise"
        )
    absent = [label for code, label in enumerate(task.classes) if code not in there]
    if not absent:
        return ""
    return (
        f"no training row has the class {listed(map(repr, absent), most=5)} of '{task.target}', so "
        "that no network can learn it"
    )
