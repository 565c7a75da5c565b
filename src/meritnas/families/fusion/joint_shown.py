"""Networks of cells and heads as words and as a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from meritnas.families.drawing import Drawing, Node
from meritnas.families.fusion.shown import drawn, short_network
from meritnas.families.fusion.text import ChosenCell

Heads = Mapping[str, tuple[Sequence[str], int]]
"""By the name of its modality, or `all`: the features that a head reads, its hidden units."""


def short_joint(cells: Sequence[ChosenCell], sources: Sequence[str], tail: str) -> str:
    """Of each cell its operations and what it reads; the heads."""
    return " ".join(part for part in (short_network(cells, sources), tail) if part)


def drawn_joint(
    cells: Sequence[ChosenCell], sources: Sequence[str], heads: Heads, joined: str
) -> Drawing:
    """Features, the steps of every cell, the cells, the heads, the output.

    Args:
        cells: what was chosen; none where there are no cells.
        sources: the names of features, and then of cells.
        heads: see `Heads`.
        joined: how what they say becomes one.
    """
    inner = drawn(cells, sources)
    if not heads:
        return inner
    read = (name for features, _ in heads.values() for name in features)
    inputs = tuple(dict.fromkeys((*inner.inputs, *read)))
    nodes, said = list(inner.nodes[:-1]), []
    if cells:
        said.append("cells")
        nodes.append(replace(inner.nodes[-1], name="cells"))
    for name, (features, width) in heads.items():
        said.append(f"head {name}")
        way = "concatenation" if len(features) > 1 else ""
        label = f"{width} hidden"
        nodes.append(Node(said[-1], tuple((each, label) for each in features), way))
    nodes.append(Node("output", tuple((each, "") for each in said), joined))
    return Drawing("features, cells and heads, output", inputs, tuple(nodes))
