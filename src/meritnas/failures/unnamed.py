"""What may be said about failures where nobody is to see the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OF_ROWS = {"numbers": ("points", "reach"), "words": ("dearest",)}
"""What has values of single rows, by the part it is in."""


def without_rows(found: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, scores and curves alone, of what `failures_on` has found."""
    kept = {name: part for name, part in found.items() if name != "worst"}
    for name, own in _OF_ROWS.items():
        if name in kept:
            kept[name] = {key: value for key, value in kept[name].items() if key not in own}
    return kept
