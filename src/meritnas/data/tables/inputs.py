"""What comes into a network for tables, by its name for whoever builds one."""

from __future__ import annotations

from meritnas.data.columns.inputs import (
    WIDEST_EMBEDDING,
    TableInputs,
    as_table_inputs,
    embedding_width,
    most_codes,
)

__all__ = ["WIDEST_EMBEDDING", "TableInputs", "as_table_inputs", "embedding_width", "most_codes"]
