"""Which columns of a table hold names of picture files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meritnas.data.columns.missing_words import are_few
from meritnas.data.pictures.read_named import is_picture_name

if TYPE_CHECKING:
    import pandas as pd

_FIRST = 20
"""So many cells tell most columns of other texts."""


def names_pictures(values: pd.Series) -> bool:
    """Whether the cells of a column are names of pictures, such as `img/001.jpg`.

    They are texts that end like pictures, and no addresses of the web. As with numbers, one cell in
    twenty may be anything, and half of them words for a missing value.
    """
    given = values.dropna()
    if not len(given) or not isinstance(given.iloc[0], str):
        return False
    if not any(map(_may_be_one, given.iloc[:_FIRST])):
        return False
    strange = [cell for cell in given.tolist() if not _may_be_one(cell)]
    return are_few(list(dict.fromkeys(strange)), len(strange), len(given))


def _may_be_one(cell: object) -> bool:
    return isinstance(cell, str) and is_picture_name(cell.strip())
