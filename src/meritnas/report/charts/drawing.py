from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.errors import SpaceError

_NONE = "none"
_PLACES = ("1st", "2nd")
"""Of the inputs of an operation; its cell calls its own inputs x and y, in any order."""

_CELL = re.compile(r"\s*(cell\d+)\(([^,]+), ([^)]+)\): (.*)", re.DOTALL)
_STEP = re.compile(r"(step\d+) = (\w+)\(([^,]+), ([^)]+)\)")
_PAIR = re.compile(r"\|?([^|~+/]+)~(\d+)")


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
    """

    title: str
    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]


def layer_widths(text: str) -> tuple[int, ...] | None:
    """The widths of a network of layers, `32-144-24`; None for another kind of text."""
    parts = text.split("-")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None


def drawings(text: str, space: str) -> tuple[Drawing, ...]:
    """The cells of an architecture as graphs; none for a network of layers.

    A text that is damaged cannot be drawn: an error says so.
    """
    try:
        return _drawings(text, space)
    except (SyntaxError, LookupError, TypeError, ValueError, MemoryError, RecursionError) as error:
        raise SpaceError(
            f"the network's text is damaged and cannot be drawn ({type(error).__name__}: {error})"
        ) from error


def _drawings(text: str, space: str) -> tuple[Drawing, ...]:
    if text.startswith("Genotype("):
        return _genotype(text)
    if _CELL.match(text):
        return (_fusion(text),)
    if "~" not in text:
        return ()
    if space == "recurrent":
        return (_recurrent(text),)
    cells = text.split("/")
    if len(cells) == 1 and space == "nasbench201":
        return (_bench(cells[0]),)
    return tuple(_dense(cell, f"cell {n}") for n, cell in enumerate(cells, start=1))


def drawing_lines(drawing: Drawing) -> list[str]:
    """A graph in words, a node a line: `node 2 = conv3x3(node 0) + skip(node 1)`."""
    lines = [f"{name} (comes in)" for name in drawing.inputs]
    for node in drawing.nodes:
        parts = [
            f"{operation}({source})" if operation else source for source, operation in _of(node)
        ]
        if not node.joined:
            lines.append(f"{node.name} = {' + '.join(parts) or '0'}")
        else:
            lines.append(f"{node.name} = {node.joined}({', '.join(parts)})")
    return lines


def _of(node: Node) -> list[tuple[str, str]]:
    """What a node reads; which input is the first of an operation goes without saying."""
    if node.joined:
        return [(source, "" if label in _PLACES else label) for source, label in node.reads]
    return list(node.reads)


def _node(number: int | str) -> str:
    return f"node {number}"


def _pairs(text: str) -> list[list[tuple[str, int]]]:
    """(operation, source) by node."""
    return [[(op.strip(), int(at)) for op, at in _PAIR.findall(part)] for part in text.split("+")]


def _bench(text: str) -> Drawing:
    """A cell of NAS-Bench-201: node 0 comes in, the last node is the output."""
    nodes = tuple(
        Node(_node(number), tuple((_node(at), op) for op, at in pairs if op != _NONE))
        for number, pairs in enumerate(_pairs(text), start=1)
    )
    return Drawing(f"cell; {nodes[-1].name} is its output", (_node(0),), nodes)


def _recurrent(text: str) -> Drawing:
    """A recurrent cell: node 0 is word and state, a node the mean of its edges."""
    nodes = tuple(
        Node(
            _node(number),
            tuple((_node(at), op) for op, at in pairs if op != _NONE),
            "mean" if sum(op != _NONE for op, _ in pairs) > 1 else "",
        )
        for number, pairs in enumerate(_pairs(text), start=1)
    )
    output = Node("output", tuple((node.name, "") for node in nodes), "mean")
    return Drawing(
        "recurrent cell; node 0 is the word and the state before", (_node(0),), (*nodes, output)
    )


def _dense(text: str, title: str) -> Drawing:
    """A cell of DARTS' unique space, which names all its edges."""
    chosen = [[(op, at) for op, at in pairs if op != _NONE] for pairs in _pairs(text)]
    return _darts_cell(title, chosen)


def _genotype(text: str) -> tuple[Drawing, ...]:
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call):
        return ()
    fields = {
        str(word.arg): ast.literal_eval(word.value)
        for word in call.keywords
        if not str(word.arg).endswith("_concat")
    }
    return tuple(
        _darts_cell(title, [pairs[i : i + 2] for i in range(0, len(pairs), 2)])
        for name, title in (("normal", "normal cell"), ("reduce", "reduction cell"))
        if (pairs := fields.get(name))
    )


def _darts_cell(title: str, chosen: Sequence[Sequence[tuple[str, int]]]) -> Drawing:
    """Nodes 0 and 1 are the outputs of the two cells before; all others make the output."""
    nodes = tuple(
        Node(_node(number), tuple((_node(at), op) for op, at in pairs))
        for number, pairs in enumerate(chosen, start=2)
    )
    output = Node("output", tuple((node.name, "") for node in nodes), "concat")
    return Drawing(title, (_node(0), _node(1)), (*nodes, output))


def _fusion(text: str) -> Drawing:
    """Features, the steps of every cell, the cells, the output."""
    inputs: dict[str, None] = {}
    nodes: list[Node] = []
    cells = []
    for part in re.split(r" \+ (?=cell\d)", text):
        match = _CELL.fullmatch(part)
        if match is None:
            continue
        cell, x, y, body = match[1], match[2].strip(), match[3].strip(), match[4]
        inputs |= dict.fromkeys(name for name in (x, y) if name not in cells)
        known = {"x": x, "y": y}
        steps = []
        for name, operation, first, second in _STEP.findall(body):
            sources = (known[first.strip()], known[second.strip()])
            reads = tuple(zip(sources, _PLACES, strict=True))
            steps.append(Node(f"{cell}.{name}", reads, operation))
            known[name] = f"{cell}.{name}"
        given = tuple((step.name, "") for step in steps)
        nodes += [*steps, Node(cell, ((x, ""), *given), "norm")]
        cells.append(cell)
    nodes.append(Node("output", tuple((cell, "") for cell in cells), "linear"))
    return Drawing("features, cells, output", tuple(inputs), tuple(nodes))
