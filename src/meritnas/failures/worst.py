"""The rows or pictures that are most wrong, with what people see of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from meritnas.failures.thumbnail import thumbnail

MOST = 24
"""So many rows are kept at most."""

_MOST_COLUMNS = 40
_MOST_LETTERS = 80
_MOST_PICTURES = 2
"""Of a row: modalities that are pictures."""


def worst_first(badness: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Places of the worst wrong rows, the worst first, at most so many.

    Args:
        badness: of each row [n].
        wrong: whether it is wrong at all [n].
    """
    places = np.flatnonzero(wrong)
    return places[np.argsort(-badness[places], kind="stable")][:MOST]


def with_cells(
    worst: Sequence[dict[str, Any]], cells: pd.DataFrame | None, rows: np.ndarray
) -> list[dict[str, Any]]:
    """The same with the cells of each row, and its number where the index has one.

    Args:
        worst: rows.
        cells: of all rows that were looked at; None for none.
        rows: the places of `worst` among these.
    """
    if cells is None:
        return list(worst)
    found = []
    for one, row in zip(worst, rows, strict=True):
        own = cells.iloc[int(row), :_MOST_COLUMNS]
        shown = {_text(name): _text(value) for name, value in own.items()}
        number = {"number": int(cells.index[int(row)])} if cells.index.name == "row" else {}
        found.append({**one, **number, "cells": shown})
    return found


def with_pictures(
    worst: Sequence[dict[str, Any]], pictures: Mapping[str, np.ndarray]
) -> list[dict[str, Any]]:
    """The same with the pictures of each row as small PNG files in base64.

    Args:
        worst: rows.
        pictures: name -> uint8 [rows, h, w, channels].
    """
    named = list(pictures.items())[:_MOST_PICTURES]
    if not named:
        return list(worst)
    return [
        {**one, "pictures": {_text(name): thumbnail(stack[k]) for name, stack in named}}
        for k, one in enumerate(worst)
    ]


def _text(value: Any) -> str:
    """A cell as text: short, without half characters, empty where it is missing."""
    if value is None or (np.ndim(value) == 0 and pd.isna(value)):
        return ""
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    whole = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return whole if len(whole) <= _MOST_LETTERS else whole[: _MOST_LETTERS - 1] + "\u2026"
