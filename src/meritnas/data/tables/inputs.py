"""What comes into networks for tables; it lives in `data.columns`, which `modalities` share."""

from __future__ import annotations

from meritnas.data.columns.inputs import (
    WIDEST_EMBEDDING,
    TableInputs,
    as_table_inputs,
    embedding_width,
    most_codes,
)

__all__ = ["WIDEST_EMBEDDING", "TableInputs", "as_table_inputs", "embedding_width", "most_codes"]
