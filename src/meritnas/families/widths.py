"""The widths that layers choose from."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from meritnas.errors import SpaceError, told

PAPER_WIDTHS = (8, 16, 24, 32, *range(48, 257, 16), 384, 512)
"""The 20 sizes of TabNAS' Criteo and Volkert 4-layer spaces (appendix B.2)."""

WIDEST_LAYER = 1_000_000
"""Beyond any machine's memory, where another layer of the same width follows."""

Widths = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""The same for every layer, or a tuple for each layer."""


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
    if found[-1] > WIDEST_LAYER:
        raise SpaceError(f"widths must be at most {WIDEST_LAYER:,}, got {told(found[-1])}")
    return found


def checked_widths(widths: Iterable[Any], layers: int) -> Widths:
    """Widths in the form that was given: for all of so many layers, or for each of them."""
    if layers < 1:
        raise SpaceError(f"at least one hidden layer is needed, got layers={layers}")
    given = list(widths)
    if not any(isinstance(entry, Collection) for entry in given):
        return check_widths(given)
    rows = [list(entry) if isinstance(entry, Collection) else [entry] for entry in given]
    if len(rows) != layers:
        raise SpaceError(
            f"a list of widths for each of {layers} layers is needed, got {len(rows)} lists"
        )
    return tuple(check_widths(row) for row in rows)


def layer_widths(widths: Iterable[Any], layers: int) -> tuple[tuple[int, ...], ...]:
    """The widths of each of so many layers."""
    found: tuple[Any, ...] = checked_widths(widths, layers)
    return found if isinstance(found[0], tuple) else (found,) * layers
