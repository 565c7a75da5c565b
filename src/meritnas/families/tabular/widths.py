"""The widths that a layer chooses from."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from meritnas.errors import SpaceError


def check_widths(widths: Sequence[int]) -> tuple[int, ...]:
    """The widths of a layer, ascending and without repetition; an error names a bad one."""
    try:
        found = tuple(sorted({operator.index(width) for width in widths}))
    except TypeError as error:
        raise SpaceError(f"widths must be whole numbers, got {list(widths)}") from error
    if not found or found[0] < 2:
        raise SpaceError(
            f"a layer needs widths of at least 2 (one unit normalised alone is always 0), "
            f"got {list(widths)}"
        )
    return found
