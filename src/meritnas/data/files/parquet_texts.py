"""Columns of text of a Parquet file, tidied once for each different text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from meritnas.data.columns.texts_once import codes_and_texts, text_column, texts_once
from meritnas.data.files.clean_cells import tidy_text
from meritnas.data.files.parquet import Room, check_text


def are_texts(schema: pa.Schema, name: str) -> bool:
    """Whether a column holds text."""
    kinds = [field.type for field in schema if field.name == name]
    return all(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in kinds)


def read_texts(file: Any, group: int, name: str, tidy: str, room: Room) -> pd.Series:
    """A column of one row group as `read_groups` and `tidy_table` would have it, but kept once.

    Args:
        file: Opened so that it keeps repeated text once.
        group: Its number.
        name: The column's in the file.
        tidy: The same as the table has it.
        room: For what it comes to.

    Raises:
        DataError: There is too much of it. Besides this, what Arrow raises.
    """
    table = file.read_row_groups([group], columns=[name], use_threads=False)
    values = table.column(name)
    check_text(values, room)
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    chunks = values.unify_dictionaries().combine_chunks()
    one = chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks
    return _tidy(text_column(one, tidy), tidy)


def _tidy(values: pd.Series, name: str) -> pd.Series:
    """Without what surrounds texts, by the different ones; numbers where they all are."""
    codes, different = codes_and_texts(values)
    texts = different.cast(pa.string()).to_pandas()
    tidy = tidy_text(texts)
    if tidy is texts or tidy.equals(texts):
        return values
    if pd.api.types.is_numeric_dtype(tidy.dtype):
        numbers = np.append(tidy.to_numpy(np.float64), np.nan)
        return pd.Series(numbers[codes], name=name)
    places, kept = pd.factorize(tidy)  # what differed in blanks is the same now
    codes = np.append(places, -1)[codes]
    return texts_once(codes, pa.array(kept, pa.string(), from_pandas=True), name)
