"""What each column of a table becomes, in plain terms."""

from __future__ import annotations

from typing import Any

import pandas as pd

from meritnas.data.columns.bound import FARTHEST
from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.columns.number_column import NumberColumn
from meritnas.data.columns.row_inputs import PERIODS

_TABLE = (
    "model.onnx and model.pt2 take `numbers`, float64 [n, numbers] as they are in the table, NaN "
    "for missing, and `codes`, int64 [n, codes]; an input without columns does not exist. model.py "
    "takes one float32 tensor [n, row] of encoded inputs. All are in the order of the lists below; "
    "of each column, `numbers`, `codes` and `row` say where it stands in them."
)
_BOUND = f", clipped to -{FARTHEST:.0f} to {FARTHEST:.0f}"
_STANDARD = "(value - mean) / scale" + _BOUND
_QUANTILE = "linear interpolation between knots, whose heights are what they become; flat beyond"
_MISSING = "0 in the row, NaN in numbers"
_FAR = "; what is `missing_from` or more, either sign, counts as missing, also in graphs"
_WRITTEN = "as text {unit}, the decimal mark is {mark}; graphs take the number alone"
_FLAG = "; the row's input `indicator` is 1 then, else 0"
_TIME = "(seconds since 1970 - mean) / scale" + _BOUND
_CYCLE = (
    "sine and cosine of 2 pi place / period; month 0 to 11, weekday 0 for Monday, hour with "
    "minutes as its fraction"
)
_CATEGORY = (
    "its code; compared as text without spaces around it, numbers in their shortest form (1.0 is "
    "1), true and false as True and False"
)


def raw_numbers(encoder: TableEncoder) -> tuple[str, ...]:
    """What each number is that a table's graph takes: `age`, `day_seconds`, `day_month`."""
    dates = (
        f"{column.name}_{part}"
        for column in encoder.date_columns
        for part in ("seconds", *column.cycles)
    )
    return (*(column.name for column in encoder.number_columns), *dates)


def describe_table(encoder: TableEncoder) -> dict[str, Any]:
    """What each column becomes, and where it stands."""
    numbers, row = raw_numbers(encoder), encoder.input_names
    codes = [column.name for column in encoder.category_columns]
    flagged = [column.name for column in encoder.number_columns if column.indicator]
    flagged += [column.name for column in encoder.date_columns if column.indicator]
    flags = {name: encoder.numbers - len(flagged) + i for i, name in enumerate(flagged)}
    columns = [_number(column, place, flags) for place, column in enumerate(encoder.number_columns)]
    raw = place = len(columns)
    for date in encoder.date_columns:
        columns.append(_date(date, raw, place, flags))
        raw, place = raw + 1 + len(date.cycles), place + date.inputs
    for code, category in enumerate(encoder.category_columns):
        columns.append(_category(category, code, encoder.numbers + code))
    return {
        "kind": "table",
        "inputs": _TABLE,
        "numbers": list(numbers),
        "codes": codes,
        "row": list(row),
        "columns": columns,
        "left_out": [column.name for column in encoder.dropped],
    }


def _number(column: NumberColumn, place: int, flags: dict[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "column": column.name,
        "kind": "number",
        "numbers": [place],
        "row": [place],
        **_missing(column, flags),
    }
    if column.far is not None:
        found |= {"missing": found["missing"] + _FAR, "missing_from": column.far.limit}
    if column.written is not None:
        found["written"] = _WRITTEN.format(
            unit=f"in {column.written.unit}" if column.written.unit else "without a unit",
            mark=column.written.mark,
        )
    if column.knots:
        knots, heights = list(column.knots), list(column.heights)
        return {**found, "becomes": _QUANTILE, "knots": knots, "heights": heights}
    return {**found, "becomes": _STANDARD, "mean": column.mean, "scale": column.scale}


def _date(column: DateColumn, raw: int, place: int, flags: dict[str, int]) -> dict[str, Any]:
    return {
        "column": column.name,
        "kind": "date",
        "numbers": list(range(raw, raw + 1 + len(column.cycles))),
        "row": list(range(place, place + column.inputs)),
        **_missing(column, flags),
        "becomes": [_TIME, *(_CYCLE for _ in column.cycles[:1])],
        "written": column.form,
        "zone": column.zone,
        "mean": column.mean,
        "scale": column.scale,
        "periods": {cycle: PERIODS[cycle] for cycle in column.cycles},
    }


def _missing(column: NumberColumn | DateColumn, flags: dict[str, int]) -> dict[str, Any]:
    if column.name not in flags:
        return {"missing": _MISSING}
    return {"missing": _MISSING + _FLAG, "indicator": flags[column.name]}


def _category(column: CategoryColumn, code: int, place: int) -> dict[str, Any]:
    known = [*column.categories, *(text for text in "01" if text not in column.categories)]
    codes = column.encode(pd.Series(known, dtype=object)).astype(int).tolist()
    return {
        "column": column.name,
        "kind": "category",
        "codes": [code],
        "row": [place],
        "missing": "code 0, as for categories that are not listed",
        "becomes": _CATEGORY,
        "categories": {text: c for text, c in zip(known, codes, strict=True) if c},
    }
