"""Networks for several modalities as words, as a graph and as Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.data.modalities.row_layout import RowLayout
from meritnas.errors import UsageError
from meritnas.families.drawing import PLACES, Drawing, Node
from meritnas.families.fusion.text import ChosenCell
from meritnas.families.source import escaped, network_source


def short_network(cells: Sequence[ChosenCell], sources: Sequence[str]) -> str:
    """Of each cell its operations and what it reads."""
    return " ".join(
        f"{'+'.join(name for name, _, _ in steps)}({sources[x]}, {sources[y]})"
        for (x, y), steps in cells
    )


def drawn(cells: Sequence[ChosenCell], sources: Sequence[str]) -> Drawing:
    """Features, the steps of every cell, the cells, the output."""
    names = [f"cell{number}" for number in range(1, len(cells) + 1)]
    inputs: dict[str, None] = {}
    nodes: list[Node] = []
    for cell, ((x, y), steps) in zip(names, cells, strict=True):
        known = [sources[x], sources[y]]
        inputs |= dict.fromkeys(name for name in known if name not in names)
        given = []
        for count, (operation, first, second) in enumerate(steps, start=1):
            read = tuple(zip((known[first], known[second]), PLACES, strict=True))
            given.append(Node(f"{cell}.step{count}", read, operation))
            known.append(given[-1].name)
        all_read = ((sources[x], ""), *((step.name, "") for step in given))
        nodes += [*given, Node(cell, all_read, "norm")]
    nodes.append(Node("output", tuple((cell, "") for cell in names), "linear"))
    return Drawing("features, cells, output", tuple(inputs), tuple(nodes))


def fusion_source(
    network: type,
    arguments: Mapping[str, Any],
    layout: RowLayout,
    sources: Sequence[str],
    cells: Sequence[ChosenCell],
    text: str,
) -> str:
    """A Python file with the network, which says whose the columns of a row are.

    Args:
        network: the class of such networks.
        arguments: of its `__init__`.
        layout: where the numbers of each modality stand in a row.
        sources: the names of features, and then of cells.
        cells: what was chosen.
        text: the architecture's.
    """
    read = {k for pair, _ in cells for k in pair}
    features = len(arguments["features"])
    unread = [escaped(name) for k, name in enumerate(sources[:features]) if k not in read]
    about = about_rows(layout, arguments["outputs"])
    if unread:
        about += "\n    Layers that are made and not run, as no cell reads them:\n\n"
        about += "".join(f"    {name}\n" for name in unread)
    return network_source(network, arguments, text, about + "    ")


def about_rows(layout: RowLayout, outputs: int) -> str:
    """What a network reads and gives, and whose the columns of a row are, for a docstring."""
    columns = "".join(f"    {line}\n" for line in _columns(layout))
    return (
        f"Rows [n, {layout.width}] -> scores [n, {outputs}].\n\n"
        f"    The columns of a row:\n\n{columns}"
    )


def check_source(backbones: Mapping[str, object]) -> None:
    """Complain about a backbone, by the name of its modality, that is a user's own function."""
    for name, backbone in backbones.items():
        if callable(backbone):
            raise UsageError(
                f"the backbone of '{name}' is a function of your own, whose source cannot be "
                "written as Python here; use --to onnx or --to torch-export"
            )


def _columns(layout: RowLayout) -> list[str]:
    """Of each modality the column that says whether it is there, and those of its features."""
    lines = []
    for number, (name, shapes) in enumerate(layout.modalities):
        start = layout.flag(number)
        parts = [f"{start} says whether it is there"]
        for shape in shapes:
            first, start = start + 1, start + math.prod(shape)
            columns = f"{first} is" if start == first else f"{first} to {start} are"
            parts.append(f"{columns} {shape}")
        lines.append(f"{escaped(name)}: {', '.join(parts)}")
    return lines
