"""Columns of text of which each different one is kept once, with a code for every row.

Text repeats itself: what is done once for each different text is many times faster, and so is what
is done with codes. Pandas' own categories make Python objects of all texts and look for equal ones
whenever a column is cut, so such a column is an Arrow dictionary.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa


def texts_once(codes: np.ndarray, texts: pa.Array, name: str) -> pd.Series:
    """A column.

    Args:
        codes: Of each row the position of its text, negative where it is missing [n].
        texts: The different ones.
        name: The column's.
    """
    places = pa.array(codes.astype(np.int32, copy=False), mask=codes < 0)
    return text_column(pa.DictionaryArray.from_arrays(places, texts), name)


def text_column(values: pa.DictionaryArray, name: str) -> pd.Series:
    """The same of what is such an array already."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([values])), name=name)


def has_texts_once(values: pd.Series) -> bool:
    """Whether a column is kept so."""
    kind = values.dtype
    return isinstance(kind, pd.ArrowDtype) and bool(pa.types.is_dictionary(kind.pyarrow_dtype))


def codes_and_texts(values: pd.Series) -> tuple[np.ndarray, pa.Array]:
    """Codes [n], -1 for missing, and the different texts, as `texts_once` takes them."""
    found = _coded(values)
    codes = found.indices.fill_null(-1).to_numpy()
    return codes, found.dictionary


def with_text_again(frame: pd.DataFrame) -> pd.DataFrame:
    """A table whose columns of text have a text for every row, as others have."""
    decoded = {
        name: _coded(values).cast(pa.string()).to_pandas().set_axis(values.index)
        for name, values in frame.items()
        if has_texts_once(values)
    }
    return frame.assign(**decoded) if decoded else frame


def _coded(values: pd.Series) -> pa.DictionaryArray:
    found = pa.array(values.array)
    if isinstance(found, pa.ChunkedArray):
        found = found.unify_dictionaries().combine_chunks()
    return found
