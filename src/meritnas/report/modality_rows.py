"""What modalities are worth as rows of text, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.report.numbers import interval_text, score_text, signed_text

USE_HEAD = ("modality", "Shapley value", "95 % interval", "alone", "without")
"""What `use_cells` gives."""


def use_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """A modality as a row of a table; `row` is one of `ModalityUse.rows`."""
    return (
        str(row["modality"]),
        signed_text(row["value"]),
        interval_text(row["low"], row["high"]),
        score_text(row["alone"]),
        score_text(row["without"]),
    )
