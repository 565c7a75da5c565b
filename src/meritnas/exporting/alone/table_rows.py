"""Raw rows of a table as a network reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from meritnas.data.columns.cells import check_finite, no_number, number_of, numbers_of
from meritnas.data.columns.date_texts import no_date, read_times
from meritnas.data.columns.measured_cells import measured_number
from meritnas.data.columns.names import lacking_columns, unique_names
from meritnas.data.columns.row_inputs import (
    category_codes,
    date_inputs,
    number_inputs,
    write_inputs,
)
from meritnas.errors import DataError

Cells = Sequence[object]
"""Of a column: texts, numbers, dates; what is missing is None, NaN or blank."""


def columns_of(data: Any) -> dict[str, Cells]:
    """The columns of a data frame, of a dict of columns, or of a list of rows that are dicts."""
    if isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data):
        keys = list(dict.fromkeys(name for row in data for name in row))
        return {str(name): [row.get(name) for row in data] for name in keys}
    if not hasattr(data, "items"):
        raise DataError("give a data frame, a dict of columns, or a list of rows that are dicts")
    pairs = list(data.items())
    names = unique_names(name for name, _ in pairs)
    found: dict[str, Cells] = {
        name: list(cells) for name, (_, cells) in zip(names, pairs, strict=True)
    }
    if len({len(cells) for cells in found.values()}) > 1:
        raise DataError("the columns are not equally long; give one value for each row")
    return found


def table_inputs(columns: Mapping[str, Cells], encoder: Mapping[str, Any]) -> np.ndarray:
    """Rows as the network reads them, float32 [n, width].

    Args:
        columns: The cells of each column, by name.
        encoder: What was learned about each column.

    Raises:
        DataError: A column is missing, or a cell is not a finite number or not a date.
    """
    numbers, dates = encoder["numbers"], encoder.get("dates", ())
    categories = encoder["categories"]
    used = [column["name"] for column in (*numbers, *dates, *categories)]
    absent = [name for name in used if name not in columns]
    if absent:
        raise lacking_columns(absent, columns)
    widths = [*(1 for _ in numbers), *(1 + 2 * len(column["cycles"]) for column in dates)]
    flags = sum(bool(column["indicator"]) for column in (*numbers, *dates))
    rows = len(columns[used[0]])
    out = np.empty((rows, sum(widths) + flags + len(categories)), dtype=np.float32)
    measured = chain(
        (_flagged(_number_inputs(columns[column["name"]], column), column) for column in numbers),
        (_flagged(_date_inputs(columns[column["name"]], column), column) for column in dates),
    )
    write_inputs(out, measured, (_codes(columns[c["name"]], c) for c in categories))
    return out


def _flagged(
    found: tuple[np.ndarray, np.ndarray], column: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray | None]:
    inputs, missing = found
    return inputs, missing if column["indicator"] else None


def _number_inputs(cells: Cells, column: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    name, far = column["name"], column.get("far")
    given, numbers = _given(cells), np.full(len(cells), np.nan)
    numbers[given] = _numbers([cells[i] for i in given], column)
    check_finite(numbers, name)
    knots, heights = column.get("knots", ()), column.get("heights", ())
    limit = None if far is None else far["limit"]
    return number_inputs(numbers, column["mean"], column["scale"], knots, heights, limit)


def _numbers(cells: Cells, column: Mapping[str, Any]) -> np.ndarray:
    """The numbers of cells that are not missing, NaN for what counts as missing."""
    written = column.get("written")
    if written is None or all(number_of(cell) == number_of(cell) for cell in cells):
        truths = (column.get("low"), column.get("high")) == (0.0, 1.0)
        return numbers_of(cells, column["name"], truths=truths)
    way = written["unit"], written["mark"], written["magnitudes"]
    numbers = np.array([measured_number(cell, *way) for cell in cells])
    strange = np.isnan(numbers)
    if strange.any() and not written["unread"]:
        raise no_number(column["name"], cells[int(np.argmax(strange))], written["unit"])
    return numbers


def _date_inputs(cells: Cells, column: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    given = _given(cells)
    times = np.full(len(cells), "NaT", dtype="datetime64[us]")
    times[given] = _times([cells[i] for i in given], column)
    inputs = date_inputs(times, column["mean"], column["scale"], column["cycles"])
    return inputs, np.isnat(times)


def _times(cells: Cells, column: Mapping[str, Any]) -> np.ndarray:
    """The times of cells that are not missing, as the clock on the wall showed them."""
    if all(isinstance(cell, date | np.datetime64) for cell in cells):
        return np.array([_wall(cell, column["zone"]) for cell in cells], dtype="datetime64[us]")
    times = read_times([str(cell).strip() for cell in cells], column["form"])
    if np.isnat(times).any() and not column.get("unread"):
        raise no_date(column["name"], cells[int(np.argmax(np.isnat(times)))], column["form"])
    return times


def _wall(cell: object, zone: str | None) -> object:
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        where = UTC if zone in (None, "UTC") else ZoneInfo(str(zone))
        return cell.astimezone(where).replace(tzinfo=None)
    return cell


def _codes(cells: Cells, column: Mapping[str, Any]) -> np.ndarray:
    given, codes = _given(cells), np.zeros(len(cells), dtype=np.float32)
    codes[given] = category_codes([cells[i] for i in given], column["categories"])
    return codes


def _given(cells: Cells) -> list[int]:
    return [i for i, cell in enumerate(cells) if not _is_missing(cell)]


def _is_missing(cell: object) -> bool:
    return is_nothing(cell) or (isinstance(cell, str) and not cell.strip())


def is_nothing(cell: object) -> bool:
    """Whether a cell is None, NaN or the like; blank text is not."""
    if cell is None or isinstance(cell, str):
        return cell is None
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # the missing value of pandas is not even unequal to itself
        return type(cell).__name__ == "NAType"
