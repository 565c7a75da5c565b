"""The columns of a table as modalities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.modalities.arrays import array_views, modality_of
from meritnas.data.modalities.list_columns import list_arrays
from meritnas.data.modalities.table import MOST_CATEGORIES
from meritnas.data.modalities.view import View, join_texts
from meritnas.data.pictures.names import names_pictures
from meritnas.errors import DataError
from meritnas.wording import did_you_mean, listed

TABLE = "table"
"""The modality of the columns that are in no other."""

_WORDS_OF_A_COLUMN = 3.0
_WORDS_OF_A_GROUP = 1.0


def column_views(
    frame: pd.DataFrame, modalities: Iterable[str] | Mapping[str, str | Sequence[str]] | None
) -> dict[str, View]:
    """Takes the columns of a table as modalities.

    Columns of lists of numbers are arrays (see `array_views`), columns that name pictures are texts
    of their own. Columns named `group.column` belong to the modality `group`. Of the others, those
    of written text are a modality each; all that remain are the modality `table`. A column is
    written text if its values are strings, of more than three words on average, and more of them
    differ than the categories a column keeps (or than half of the rows). A group is written text if
    all its columns are strings and one of them is written text by that rule, from one word on
    average on; they are joined.

    Args:
        frame: The table without the target column.
        modalities: The modalities to take, None for all; or name -> columns, whatever their names.

    Raises:
        DataError: There is no such modality or column.
    """
    lists = list_arrays(frame)
    if isinstance(modalities, Mapping):
        named = {name: columns_of(frame, name, c) for name, c in modalities.items()}
        return {name: _named(name, frame[columns], lists) for name, columns in named.items()}
    found = _find(frame.drop(columns=list(lists)))
    whole = array_views(lists, None)
    both = next((name for name in whole if name in found), None)
    if both is not None:
        raise DataError(
            f"the modality '{both}' has columns of lists and other columns; name them differently"
        )
    found.update(whole)
    if modalities is None:
        return found
    wanted = list(dict.fromkeys(modalities))
    for name in wanted:
        if name not in found:
            raise DataError(
                f"there is no modality '{name}';{did_you_mean(name, found)} modalities: "
                f"{listed(found)}; to make others, give name -> columns"
            )
    return {name: found[name] for name in wanted}


def columns_of(frame: pd.DataFrame, name: str, columns: str | Sequence[str]) -> list[str]:
    """The columns a user names for a modality.

    Raises:
        DataError: There is no such column, or none is named.
    """
    asked = [columns] if isinstance(columns, str) else list(columns)
    if not asked:
        raise DataError(f"the modality '{name}' has no columns; name at least one")
    for column in asked:
        if column not in frame.columns:
            raise DataError(
                f"no column '{column}' for the modality '{name}';"
                f"{did_you_mean(str(column), frame.columns)} columns besides the target: "
                f"{listed(frame.columns)}"
            )
    return asked


def _find(frame: pd.DataFrame) -> dict[str, View]:
    groups: dict[str, list[str]] = {}
    written: list[str] = []
    for column in frame.columns:
        before, dot, after = column.partition(".")
        if names_pictures(frame[column]):
            written.append(column)
        # A name that occurs twice in a file has become a and a.1.
        elif before and dot and after and before not in frame.columns:
            groups.setdefault(before, []).append(column)
        elif _is_written(frame[column], _WORDS_OF_A_COLUMN):
            written.append(column)
        else:
            groups.setdefault(TABLE, []).append(column)
    if TABLE in written and TABLE in groups:
        raise DataError(
            f"the column '{TABLE}' holds texts, but '{TABLE}' is what the columns without a text "
            "are called; rename the column"
        )
    texts: dict[str, View] = {column: join_texts(frame[[column]]) for column in written}
    return {**texts, **{name: text_or_table(name, frame[own]) for name, own in groups.items()}}


def _named(name: str, frame: pd.DataFrame, lists: Mapping[str, np.ndarray]) -> View:
    """The columns that a user groups; lists keep their own names, by which new data is read."""
    if not any(column in lists for column in frame.columns):
        return text_or_table(name, frame)
    own = {column: array for column, array in lists.items() if modality_of(column) == name}
    if set(own) != set(frame.columns):
        raise DataError(
            f"the modality '{name}' is given {listed(frame.columns)}, but columns of lists are "
            f"modalities by their own names: {listed(dict.fromkeys(map(modality_of, lists)))}; "
            "rename the columns"
        )
    return array_views(own, None)[name]


def text_or_table(name: str, frame: pd.DataFrame) -> View:
    """Columns that belong together, as text if that is what they hold.

    Raises:
        DataError: A column of pictures is among others.
    """
    pictures = [column for column in frame.columns if names_pictures(frame[column])]
    if pictures and len(frame.columns) > 1:
        raise DataError(
            f"the modality '{name}' has the column '{pictures[0]}', which names pictures, beside "
            "others; a column of pictures is a modality of its own, name it alone"
        )
    if pictures:
        return join_texts(frame)
    every = [values for _, values in frame.items()]
    written = any(_is_written(values, _WORDS_OF_A_GROUP) for values in every)
    if written and all(_is_text(values) for values in every):
        return join_texts(frame)
    return frame


def _is_text(values: pd.Series) -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype) or types.is_numeric_dtype(values.dtype):
        return False
    return bool(types.infer_dtype(values, skipna=True) == "string")


def _is_written(values: pd.Series, words: float) -> bool:
    if not _is_text(values):
        return False
    texts = values.dropna().astype(str)
    if texts.nunique() <= min(MOST_CATEGORIES, len(texts) / 2):
        return False
    return bool(texts.str.split().str.len().mean() > words)
