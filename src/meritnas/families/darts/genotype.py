"""Networks of DARTS' cells as text: genotypes, and cells one after the other."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meritnas.errors import SpaceError
from meritnas.families.darts.child import EDGES, NODES
from meritnas.families.operations import NONE
from meritnas.wording import shortened

_CONCAT = [2, 3, 4, 5]
_LONGEST = 10_000
"""Letters of a genotype: ten times as many as one has."""
_EXAMPLE = (
    "Genotype(normal=[('sep_conv_3x3', 0), ...8 pairs], normal_concat=[2, 3, 4, 5], "
    "reduce=[...8 pairs], reduce_concat=[2, 3, 4, 5])"
)


@dataclass(frozen=True)
class GenotypeText:
    """DARTS' own form: `Genotype(normal=[('sep_conv_3x3', 1), ...], normal_concat=..., ...)`.

    Two (operation, state) pairs for each node; edges that are not named are absent. Within a node
    their order says nothing; it is written with states ascending.
    """

    def format(self, options: Sequence[str]) -> str:
        """Two cells, 14 edges each."""
        return "".join(self.lines(options))

    def lines(self, options: Sequence[str]) -> list[str]:
        """The same, a node a line."""
        found = []
        for number, name in enumerate(("normal", "reduce")):
            own = options[number * len(EDGES) : (number + 1) * len(EDGES)]
            found.append(f"{'' if number else 'Genotype('}{name}=[")
            nodes = [
                ", ".join(str((option, source)) for option, source in pairs)
                for pairs in present_edges(own)
                if pairs
            ]
            found += [f"{node}, " for node in nodes[:-1]] + [f"{node}], " for node in nodes[-1:]]
            found.append(f"{name}_concat={_CONCAT}{')' if number else ', '}")
        return found

    def parse(self, text: str) -> tuple[str, ...]:
        """The operations by edge, `none` where there is none."""
        fields = _fields(text)
        return (*_edges(fields, "normal", text), *_edges(fields, "reduce", text))


@dataclass(frozen=True)
class CellsText:
    """Cells one after the other, ` / ` between them: `|op~0|op~1|+|op~0|op~1|op~2|+...`."""

    cells: int

    def format(self, options: Sequence[str]) -> str:
        """All edges of all cells, `none` included."""
        size = len(EDGES)
        return " / ".join(
            _cell(options[number * size : (number + 1) * size]) for number in range(self.cells)
        )

    def parse(self, text: str) -> tuple[str, ...]:
        """The operations by cell and edge."""
        cells = text.strip().split("/")
        if len(cells) != self.cells:
            raise SpaceError(
                f"{self.cells} cells with ' / ' between them are needed, got {len(cells)} cells"
            )
        found: list[str] = []
        for number, cell in enumerate(cells, start=1):
            nodes = [part.strip().strip("|").split("|") for part in cell.strip().split("+")]
            edges = [tuple(edge.split("~")) for node in nodes for edge in node]
            expected = [str(source) for _, source in EDGES]
            if [edge[-1] for edge in edges] != expected or any(len(edge) != 2 for edge in edges):
                raise SpaceError(
                    f"cell {number} must name its 14 edges like "
                    f"{_cell(['skip_connect'] * len(EDGES))}, got '{shortened(cell.strip(), 300)}'"
                )
            found += [edge[0] for edge in edges]
        return tuple(found)


def present_edges(options: Sequence[str]) -> list[list[tuple[str, int]]]:
    """Of each node of a cell the operations of its present edges, and where they come from."""
    found: list[list[tuple[str, int]]] = [[] for _ in range(NODES)]
    for (node, source), option in zip(EDGES, options, strict=True):
        if option != NONE:
            found[node].append((option, source))
    return found


def _cell(options: Sequence[str]) -> str:
    nodes: dict[int, str] = {}
    for (node, source), name in zip(EDGES, options, strict=True):
        nodes[node] = nodes.get(node, "|") + f"{name}~{source}|"
    return "+".join(nodes.values())


def _fields(text: str) -> Mapping[str, Any]:
    shown = shortened(text, 300)
    wrong = SpaceError(f"'{shown}' is no genotype of DARTS, which is written like {_EXAMPLE}")
    if len(text) > _LONGEST:
        raise wrong
    try:
        with warnings.catch_warnings(action="ignore"):  # about what is odd in Python
            call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise wrong
        # `range(2, 6)` is how people write the concatenation, too.
        return {
            str(word.arg): _CONCAT
            if ast.unparse(word.value) == "range(2, 6)"
            else ast.literal_eval(word.value)
            for word in call.keywords
        }
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise wrong from error


def _edges(fields: Mapping[str, Any], cell: str, text: str) -> tuple[str, ...]:
    pairs, concat = fields.get(cell), fields.get(f"{cell}_concat", _CONCAT)
    if not isinstance(concat, list | tuple) or list(concat) != _CONCAT:
        raise SpaceError(
            f"{cell}_concat must be {_CONCAT}, all four nodes, as in the spaces here; got {concat}"
        )
    if not isinstance(pairs, list | tuple) or len(pairs) != 2 * NODES:
        raise SpaceError(
            f"a genotype needs {cell}=[...] with {2 * NODES} (operation, state) pairs, two for "
            f"each of {NODES} nodes, got '{shortened(text, 300)}'"
        )
    found = dict.fromkeys(EDGES, NONE)
    for position, pair in enumerate(pairs):
        node = position // 2
        if not isinstance(pair, list | tuple) or [type(part) for part in pair] != [str, int]:
            raise SpaceError(
                f"pair {position + 1} of {cell} must be like ('sep_conv_3x3', 0), got {pair!r}"
            )
        name, source = pair
        if (node, source) not in found:
            raise SpaceError(
                f"pair {position + 1} of {cell} names state {source}, but its node can read "
                f"states 0 to {node + 1}"
            )
        if found[node, source] != NONE:
            raise SpaceError(
                f"node {node + 2} of {cell} reads state {source} twice; in DARTS' spaces its two "
                "edges come from different states"
            )
        found[node, source] = name
    return tuple(found.values())
