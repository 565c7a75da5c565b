"""What comes before a network, in C: rows of a table, or pixels, by `preprocessing.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meritnas.data.columns.bound import FARTHEST
from meritnas.exporting.c.constants import Constants, number_text
from meritnas.exporting.c.storages import refuse
from meritnas.wording import visible_line


@dataclass(frozen=True)
class Encoder:
    """What comes before a network, in C.

    Attributes:
        arguments: of the function that takes raw inputs: (what is declared, its name).
        sizes: names of macros, and numbers.
        about: how inputs are given, lines of a comment.
        records: declarations of what `constants` are made of.
        text: the function `encode`, which gives `store(place, value)` every number of a row.
        constants: what it needs.
    """

    arguments: tuple[tuple[str, str], ...]
    sizes: Mapping[str, int]
    about: Sequence[str]
    records: str
    text: str
    constants: Constants


def encoder_of(described: Mapping[str, Any]) -> Encoder:
    """What comes before a network.

    Args:
        described: what `preprocessing.json` holds.

    Raises:
        UsageError: The data is of a kind that C is not written for.
    """
    if described["kind"] == "table":
        return _table(described)
    if described["kind"] != "images":
        refuse(f"data of the kind {described['kind']}")
    return _images(described)


_IMAGES = """
static void encode(const uint8_t *pixels)
{
    int32_t c, n;
    for (c = 0; c < MODEL_CHANNELS; ++c)
        for (n = 0; n < MODEL_HEIGHT * MODEL_WIDTH; ++n)
            store(c * MODEL_HEIGHT * MODEL_WIDTH + n,
                  ((float)pixels[n * MODEL_CHANNELS + c] / 255.0f - pixel_means[c])
                      / pixel_deviations[c]);
}
"""


def _images(described: Mapping[str, Any]) -> Encoder:
    constants = Constants()
    constants.array("pixel_means", "float", described["mean"])
    constants.array("pixel_deviations", "float", described["std"])
    sizes = {f"MODEL_{name.upper()}": described[name] for name in ("height", "width", "channels")}
    pixels = "const uint8_t pixels[MODEL_HEIGHT * MODEL_WIDTH * MODEL_CHANNELS]"
    about = (
        "pixels: 0 to 255, row after row from the top, the channels of a pixel side by side.",
        "Pictures of another size are scaled before, as preprocessing.json says.",
    )
    return Encoder(((pixels, "pixels"),), sizes, about, "", _IMAGES, constants)


_NUMBER = """
/* A column of numbers: it is standardised or, with knots, interpolated between these. Numbers of
   the magnitude `limit`, or larger, count as missing, if there is one; `flag` is where the row
   says that one is missing. */
struct number { double mean, deviation, limit; int32_t flag, knots, first_knot; };
"""
_MISSING = """
static int is_missing(double value, double limit)
{
    return isnan(value) || (limit > 0.0 && fabs(value) >= limit);
}
"""
_SCALED = """
static float bounded(double value)
{
    return (float)(value > FARTHEST ? FARTHEST : value < -FARTHEST ? -FARTHEST : value);
}
"""
_BETWEEN = """
static float between_knots(const struct number *column, double value)
{
    const double *at = knots + column->first_knot, *high = heights + column->first_knot;
    int32_t n = 0;
    if (value <= at[0])
        return (float)high[0];
    if (value >= at[column->knots - 1])
        return (float)high[column->knots - 1];
    while (value >= at[n + 1])
        ++n;
    return (float)(high[n] + (high[n + 1] - high[n]) / (at[n + 1] - at[n]) * (value - at[n]));
}
"""
_NUMBERS = """
static void encode_numbers(const double *numbers)
{{
    int32_t n;
    for (n = 0; n < {count}; ++n) {{
        const struct number *column = number_columns + n;
        const int32_t missing = is_missing(numbers[n], column->limit);
        float value = 0.0f;
        if (!missing)
            value = {value};
        store(n, value);
        if (column->flag)
            store(column->flag, missing ? 1.0f : 0.0f);
    }}
}}
"""
_STANDARD = "bounded((numbers[n] - column->mean) / column->deviation)"
_EITHER = "column->knots ? between_knots(column, numbers[n])\n                                  : "
_DATE = """
/* A date: its time, and its places in up to three cycles, of so many steps each. */
struct date { double mean, deviation, periods[3]; int32_t number, row, flag, cycles; };
"""
_ENCODE_DATES = """
static void encode_dates(const double *numbers)
{{
    int32_t n, k;
    for (n = 0; n < {count}; ++n) {{
        const struct date *column = date_columns + n;
        const double *given = numbers + column->number;
        const int32_t missing = is_missing(given[0], {limit});
        store(column->row,
              missing ? 0.0f : bounded((given[0] - column->mean) / column->deviation));
        for (k = 0; k < column->cycles; ++k) {{
            const double place = given[k + 1];
            const int32_t none = is_missing(place, {limit});
            const float angle = (float)(place * (6.283185307179586 / column->periods[k]));
            store(column->row + 1 + 2 * k, none ? 0.0f : sinf(angle));
            store(column->row + 2 + 2 * k, none ? 0.0f : cosf(angle));
        }}
        if (column->flag)
            store(column->flag, missing ? 1.0f : 0.0f);
    }}
}}
"""
_CODES = """
static void encode_codes(const int32_t *codes)
{{
    int32_t n;
    for (n = 0; n < {count}; ++n)
        store({first} + n, codes[n] >= 0 && codes[n] < code_counts[n] ? (float)codes[n] : 0.0f);
}}
"""
_ENCODE = """
static void encode({arguments})
{{
{calls}
}}
"""


def _table(described: Mapping[str, Any]) -> Encoder:
    constants = Constants()
    columns = described["columns"]
    kinds = {kind: [c for c in columns if c["kind"] == kind] for kind in _PARTS}
    texts, calls = [], []
    far = any("missing_from" in column for column in columns)
    for kind, own in kinds.items():
        if own:
            texts.append(_PARTS[kind](constants, own, far))
            calls.append(f"    encode_{_NAMES[kind]};")
    arguments, about = [], []
    sizes = {}
    for name, kind in (("numbers", "double"), ("codes", "int32_t")):
        if described[name]:
            sizes[f"MODEL_{name.upper()}"] = len(described[name])
            arguments.append((f"const {kind} {name}[MODEL_{name.upper()}]", name))
            about += _about(name, described)
    declared = ", ".join(text.split("[")[0].replace(name, f"*{name}") for text, name in arguments)
    scaled = kinds["date"] or any("mean" in column for column in kinds["number"])
    begin = _SCALED.replace("FARTHEST", number_text("double", FARTHEST)) if scaled else ""
    begin = _MISSING * bool(kinds["number"] or kinds["date"]) + begin
    text = begin + "".join(texts) + _ENCODE.format(arguments=declared, calls="\n".join(calls))
    records = _NUMBER * bool(kinds["number"]) + _DATE * bool(kinds["date"])
    return Encoder(tuple(arguments), sizes, about, records, text, constants)


def _about(name: str, described: Mapping[str, Any]) -> list[str]:
    what = {
        "numbers": "as they are in the table, NAN for missing; of dates seconds since 1970 and "
        "places in cycles:",
        "codes": "of categories as preprocessing.json lists them, 0 for missing and unknown ones:",
    }[name]
    names = enumerate(map(visible_line, described[name]))
    return [f"{name}: {what}", *(f"  [{k}] {each}" for k, each in names)]


def _numbers(constants: Constants, columns: Sequence[Mapping[str, Any]], far: bool) -> str:
    knots = [knot for column in columns for knot in column.get("knots", ())]
    rows, first = [], 0
    for column in columns:
        count = len(column.get("knots", ()))
        limit = column.get("missing_from", math.inf if far else None)
        numbers = column.get("mean", 0.0), column.get("scale", 1.0)
        told = [*(number_text("double", each) for each in numbers), _limit(limit)]
        rows.append(", ".join([*told, f"{column.get('indicator', 0)}, {count}, {first}"]))
        first += count
    constants.records("number", "number_columns", rows, 40)
    if knots:
        heights = [height for column in columns for height in column.get("heights", ())]
        constants.array("knots", "double", knots)
        constants.array("heights", "double", heights)
    standard = any("mean" in column for column in columns)
    value = _STANDARD
    if knots:
        value = _EITHER + _STANDARD if standard else "between_knots(column, numbers[n])"
    return _BETWEEN * bool(knots) + _NUMBERS.format(count=len(columns), value=value)


def _limit(limit: float | None) -> str:
    if limit is None:
        return "0.0"
    return "HUGE_VAL" if math.isinf(limit) else number_text("double", limit)


def _dates(constants: Constants, columns: Sequence[Mapping[str, Any]], far: bool) -> str:
    rows = []
    for column in columns:
        periods = list(map(float, column["periods"].values()))
        numbers = [column["mean"], column["scale"]]
        told = [number_text("double", each) for each in numbers]
        filled = ", ".join(number_text("double", p) for p in (*periods, *[1.0] * 3)[:3])
        flag = column.get("indicator", 0)
        places = column["numbers"][0], column["row"][0], flag, len(periods)
        rows.append(f"{', '.join(told)}, {{{filled}}}, {', '.join(map(str, places))}")
    constants.records("date", "date_columns", rows, 56)
    limit = _limit(math.inf if far else None)
    return _ENCODE_DATES.format(count=len(columns), limit=limit)


def _codes(constants: Constants, columns: Sequence[Mapping[str, Any]], far: bool) -> str:
    del far
    counts = [max([0, *column["categories"].values()]) + 1 for column in columns]
    constants.array("code_counts", "int32_t", counts)
    return _CODES.format(count=len(columns), first=columns[0]["row"][0])


_PARTS = {"number": _numbers, "date": _dates, "category": _codes}
_NAMES = {
    "number": "numbers(numbers)",
    "date": "dates(numbers)",
    "category": "codes(codes)",
}
