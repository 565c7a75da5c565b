"""The operations that edges choose from, in DARTS' space and in those of RobustDARTS."""

from __future__ import annotations

from meritnas.errors import SpaceError
from meritnas.families.darts.child import EDGES
from meritnas.families.operations import NONE, SKIP

OPERATIONS = (
    NONE,
    "max_pool_3x3",
    "avg_pool_3x3",
    SKIP,
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)

_SHORT = {
    "s": SKIP,
    "m": "max_pool_3x3",
    "a": "avg_pool_3x3",
    "c3": "sep_conv_3x3",
    "d3": "dil_conv_3x3",
    "d5": "dil_conv_5x5",
}
_S1 = (
    "s/d3 s/d5 s/d5 s/c3 s/d3 m/s s/c3 s/c3 s/d3 s/c3 m/s s/d3 d3/d5 d3/d5",
    "m/a m/d3 m/a m/a s/d5 m/a m/c3 s/d3 s/d5 m/a m/a s/d5 s/d5 s/d5",
)
"""RobustDARTS' space S1 (Zela et al. 2020): two operations an edge, normal and reduction cell."""

_SAME = {
    "s2": (SKIP, "sep_conv_3x3"),
    "s3": (SKIP, "sep_conv_3x3"),
    "s4": ("noise", "sep_conv_3x3"),
}


def edge_operations(variant: str | None, cells: int) -> tuple[tuple[str, ...], ...]:
    """The operations of every edge: of each cell, or of a normal and a reduction cell."""
    if variant == "unique":
        return (OPERATIONS,) * (cells * len(EDGES))
    if variant is None:
        return (OPERATIONS,) * (2 * len(EDGES))
    if variant == "s1":
        return tuple(
            (NONE, *(_SHORT[short] for short in edge.split("/")))
            for cell in _S1
            for edge in cell.split()
        )
    if variant not in _SAME:
        raise SpaceError(f"the variant must be s1, s2, s3, s4 or unique, got '{variant}'")
    return ((NONE, *_SAME[variant]),) * (2 * len(EDGES))
