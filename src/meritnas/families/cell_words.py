"""Cells of operations on edges in a few words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_SHORT = {"skip_connect": "skip", "nor_conv_1x1": "1x1", "nor_conv_3x3": "3x3"}


def short_cell(edges: Sequence[tuple[int, int]], options: Sequence[str]) -> str:
    """Operations by node: `3x3|skip 3x3|skip none avg`.

    Args:
        edges: (node, source) of each edge.
        options: the operation on each.
    """
    nodes: dict[int, list[str]] = {}
    for (node, _), name in zip(edges, options, strict=True):
        nodes.setdefault(node, []).append(_SHORT.get(name, name[:4].rstrip("_")))
    return "|".join(" ".join(names) for names in nodes.values())


def counted_kinds(names: Iterable[str]) -> str:
    """How many operations of each kind there are: `8 sep, 4 skip, 4 pool`."""
    kinds = Counter("pool" if "pool" in name else name.partition("_")[0] for name in names)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def split_after(text: str, ends: str) -> list[str]:
    """A text in lines that end with one of these characters; joined they are the text again."""
    return re.sub(f"([{ends}])", r"\1\n", text).split("\n")
