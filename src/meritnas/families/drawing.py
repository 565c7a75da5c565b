"""Networks as graphs, for whoever draws them or tells them in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEAD = "dead: no way leads over it from what comes in to what goes out, so it is not built"
"""What it means that an edge is dead."""

PLACES = ("1st", "2nd")
"""Of the inputs of an operation; its cell calls its own inputs x and y, in any order."""


@dataclass(frozen=True)
class Node:
    """A node of a drawn network.

    Attributes:
        name: what others call it.
        reads: (name of a node before, what is done to it, "" for nothing).
        joined: how what it reads becomes one, if not by a sum: an operation or `mean`.
    """

    name: str
    reads: tuple[tuple[str, str], ...]
    joined: str = ""


@dataclass(frozen=True)
class Drawing:
    """A cell or a network as a graph whose nodes come in order.

    Attributes:
        title: what it is.
        inputs: names of what comes in.
        nodes: every one reads inputs and nodes before it.
        dead: (name of a node before, the node that reads it) of the edges that have no effect: no
            way leads over them from what comes in to what goes out. They are not built.
    """

    title: str
    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    dead: tuple[tuple[str, str], ...] = ()


def drawing_from_json(found: Mapping[str, Any]) -> Drawing:
    """The drawing whose fields, and fields of nodes, a JSON object holds."""
    nodes = (
        Node(str(n["name"]), tuple((str(a), str(b)) for a, b in n["reads"]), str(n["joined"]))
        for n in found["nodes"]
    )
    dead = tuple((str(source), str(node)) for source, node in found.get("dead", ()))
    return Drawing(str(found["title"]), tuple(map(str, found["inputs"])), tuple(nodes), dead)


def node_name(number: int) -> str:
    """What the node of a cell is called that has this number."""
    return f"node {number}"


def drawing_lines(drawing: Drawing) -> list[str]:
    """A graph in words, a node a line: `node 2 = conv3x3(node 0) + skip(node 1)`.

    Dead edges are marked, and a last line says what that means.
    """
    lines = [f"{name} (comes in)" for name in drawing.inputs]
    for node in drawing.nodes:
        parts = [
            (f"{operation}({source})" if operation else source)
            + (" [dead]" if (source, node.name) in drawing.dead else "")
            for source, operation in _of(node)
        ]
        if not node.joined:
            lines.append(f"{node.name} = {' + '.join(parts) or '0'}")
        else:
            lines.append(f"{node.name} = {node.joined}({', '.join(parts)})")
    return [*lines, DEAD] if drawing.dead else lines


def _of(node: Node) -> list[tuple[str, str]]:
    """What a node reads; which input is the first of an operation goes without saying."""
    if node.joined:
        return [(source, "" if label in PLACES else label) for source, label in node.reads]
    return list(node.reads)
