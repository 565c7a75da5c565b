"""Targets that are numbers written with a currency, a unit or thousands marks."""

from __future__ import annotations

import pandas as pd
from pandas.api import types

from meritnas.data.columns.distinct import find_distinct
from meritnas.data.columns.measured import find_written
from meritnas.data.labels import is_classification
from meritnas.data.task import Task


def with_target_numbers(
    frame: pd.DataFrame, target: str, task: str | None
) -> tuple[pd.DataFrame, str]:
    """A table whose target is numbers where it is written as such.

    Args:
        frame: The table.
        target: Name of the column.
        task: "classification" or "regression" to settle what it is, None to find out.

    Returns:
        The table, and a sentence about what was read; an empty one where the target stays as it is.
    """
    values = frame[target]
    if task == "classification" or types.is_numeric_dtype(values.dtype):
        return frame, ""
    distinct = find_distinct(values)
    if types.infer_dtype(distinct.values) != "string":
        return frame, ""
    asked = task == "regression"
    written = find_written(distinct, frame.attrs.get("decimal"), asked=asked)
    if written is None:
        return frame, ""
    numbers = pd.Series(written.read(distinct)[0], index=values.index, name=target)
    # Labels such as 10 %, 20 % and 30 % stay as they are written.
    if not asked and is_classification(numbers.dropna()):
        return frame, ""
    unit = f" in {written.unit}" if written.unit else ""
    lost = (
        f"; {written.unread:,} cells are none, such as {written.example!r}"
        if written.unread
        else ""
    )
    note = f"the target '{target}' is read as numbers{unit}{lost}"
    return frame.assign(**{target: numbers}), note


def known_answers(frame: pd.DataFrame, task: Task) -> pd.Series | None:
    """The answers that a new table has, as a task takes them; None where it has none."""
    if task.target not in frame.columns:
        return None
    kind = "regression" if task.kind == "regression" else "classification"
    return with_target_numbers(frame, task.target, kind)[0][task.target]
