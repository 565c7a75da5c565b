"""Names of columns: unique, and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from meritnas.errors import DataError
from meritnas.wording import did_you_mean, listed


def unique_names(names: Iterable[object]) -> list[str]:
    """Returns names as text, made unique the way pandas does: a, a.1, a.2."""
    every = [str(name) for name in names]
    reserved, taken = set(every), set[str]()
    counts: dict[str, int] = {}  # where to go on: a name may occur a hundred thousand times
    result = []
    for name in every:
        count = counts.get(name, 0)
        candidate = f"{name}.{count}" if count else name
        while candidate in taken or (count and candidate in reserved):
            count += 1
            candidate = f"{name}.{count}"
        counts[name] = count
        taken.add(candidate)
        result.append(candidate)
    return result


def tidy_names(names: Iterable[object]) -> list[str]:
    """Returns the names of a file's columns without surrounding blanks, unique and not empty."""
    stripped = (str(name).strip() for name in names)
    return unique_names(name or f"Unnamed: {place}" for place, name in enumerate(stripped))


def columns_by_name(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Returns views of a frame's columns by their unique names; nothing is copied."""
    columns = (values for _, values in frame.items())  # several times faster than by position
    return dict(zip(unique_names(frame.columns), columns, strict=True))


def lacking_columns(absent: Sequence[str], columns: Iterable[str]) -> DataError:
    """What to say about columns that are needed and not among those of a table."""
    return DataError(
        f"the table lacks {len(absent)} columns it needs: {listed(absent)};"
        f"{did_you_mean(absent[0], columns)} columns found: {listed(columns)}"
    )


def is_unnamed(name: str) -> bool:
    """Whether a first column has no name: an empty one, or what pandas makes of it."""
    return name in ("", "Unnamed: 0")
