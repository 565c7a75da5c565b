"""From what columns hold to the inputs of a network; needs numpy only, so that it leaves with one.

Training, prediction and exported networks all encode by these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from meritnas.data.columns.bound import bounded
from meritnas.data.columns.cells import category_key

PERIODS = {"month": 12, "weekday": 7, "hour": 24}
"""How many steps a cycle of a date has."""

_DAY = 86_400_000_000
_HOUR = 3_600_000_000
_MINUTE = 60_000_000
_FIRST_WEEKDAY = 3
"""1970 began on a Thursday."""


def standardised(numbers: np.ndarray, mean: float, scale: float) -> np.ndarray:
    """Numbers as standard deviations from the mean, however many."""
    with np.errstate(over="ignore"):  # what overflows is beyond any bound
        found: np.ndarray = (numbers - mean) / scale
    return found


def number_inputs(
    numbers: np.ndarray,
    mean: float,
    scale: float,
    knots: Sequence[float] = (),
    heights: Sequence[float] = (),
    limit: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The inputs of a number column, float32 [n] with missing values at 0, and where these are.

    Args:
        numbers: float64 [n], NaN for missing.
        mean: Subtracted, unless there are knots.
        scale: Divided by, then; see `bounded`.
        knots: Increasing values to interpolate between, or none.
        heights: What each knot is mapped to.
        limit: Numbers of this magnitude or a larger one count as missing; None for none.
    """
    missing = np.isnan(numbers)
    if limit is not None:
        missing |= np.abs(numbers) >= limit
    if len(knots):
        scaled = np.interp(numbers, knots, heights)
    else:
        scaled = bounded(standardised(numbers, mean, scale))
    scaled[missing] = 0.0
    return scaled.astype(np.float32), missing


def seconds_since_1970(times: np.ndarray) -> np.ndarray:
    """Times as seconds, float64 [n], NaN for missing.

    Args:
        times: datetime64[us] [n], what a clock on the wall showed.
    """
    seconds = times.astype(np.int64) / 1e6
    seconds[np.isnat(times)] = np.nan
    return seconds


def place_in_cycle(times: np.ndarray, cycle: str) -> np.ndarray:
    """The month, weekday or hour of times from 0, float64 [n], NaN for missing."""
    if cycle == "month":
        place = (times.astype("datetime64[M]").astype(np.int64) % 12).astype(np.float64)
    elif cycle == "weekday":
        days = times.astype("datetime64[D]").astype(np.int64)
        place = ((days + _FIRST_WEEKDAY) % 7).astype(np.float64)
    else:
        within = times.astype(np.int64) % _DAY
        place = within // _HOUR + within % _HOUR // _MINUTE / 60.0
    place[np.isnat(times)] = np.nan
    return place


def date_inputs(times: np.ndarray, mean: float, scale: float, cycles: Sequence[str]) -> np.ndarray:
    """The inputs of a date column, float32 [n, 1 + 2 for each cycle], all 0 where it is missing.

    Args:
        times: datetime64[us] [n], what a clock on the wall showed.
        mean: In seconds since 1970.
        scale: In seconds.
        cycles: Of `PERIODS`.
    """
    columns = [bounded((seconds_since_1970(times) - mean) / scale)]
    for cycle in cycles:
        angle = place_in_cycle(times, cycle) * (2 * np.pi / PERIODS[cycle])
        columns += [np.sin(angle), np.cos(angle)]
    inputs = np.stack(columns, axis=1).astype(np.float32)
    inputs[np.isnat(times)] = 0.0
    return inputs


def category_codes(values: Iterable[object], categories: Sequence[str]) -> np.ndarray:
    """Codes, float32 [n], of values that are not missing: 0 for an unknown one, else from 1 on."""
    code_of = code_table(categories)
    return np.array([code_of.get(category_key(value), 0) for value in values], dtype=np.float32)


def code_table(categories: Sequence[str]) -> dict[str, int]:
    """The code of each category, by its key."""
    code_of = {category: code for code, category in enumerate(categories, 1)}
    if set(code_of) <= {"False", "True"}:  # what one file calls true, another calls 1
        code_of.update({"0": code_of.get("False", 0), "1": code_of.get("True", 0)})
    return code_of


def write_inputs(
    out: np.ndarray,
    measured: Iterable[tuple[np.ndarray, np.ndarray | None]],
    coded: Iterable[np.ndarray],
) -> None:
    """Writes columns into the rows `out` [n, width], in the one order that networks know.

    Args:
        out: What is written to: what is measured, the missing indicators, the codes.
        measured: Of each number or date column its inputs, [n] or [n, several], and where it is
            missing [n] if an input of its own tells that, else None.
        coded: Of each category column its codes [n].
    """
    place, flags = 0, []
    for inputs, missing in measured:
        end = place + (1 if inputs.ndim == 1 else inputs.shape[1])
        out[:, place:end] = inputs.reshape(len(inputs), end - place)
        place = end
        flags += [] if missing is None else [missing]
    for column in flags:
        out[:, place] = column
        place += 1
    for column in coded:
        out[:, place] = column
        place += 1
