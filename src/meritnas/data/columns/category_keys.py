"""The keys of many texts at once: most texts stand for themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import compute

from meritnas.data.columns.cells import category_key

_PERHAPS_OTHER = "|".join(
    (
        r"^[\x00-\x20]|[\x00-\x20]$",
        r"[^\x00-\x7f]",
        r"^[0-9+._eE-]+$",
        r"^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$",
    )
)
"""What `category_key` may change: blanks around it, other digits than ours, numbers, truths."""


def other_keys(texts: pa.Array) -> tuple[np.ndarray, list[str]]:
    """Which texts stand for a category of another name, and for which.

    Args:
        texts: Without missing ones [n].

    Returns:
        Positions of texts whose `category_key` may be another text, increasing, and the keys of
        these; the key of every other text is the text itself.
    """
    found = compute.match_substring_regex(texts, _PERHAPS_OTHER)
    places = np.flatnonzero(found.to_numpy(zero_copy_only=False))
    return places, [category_key(text) for text in texts.take(pa.array(places)).to_pylist()]
