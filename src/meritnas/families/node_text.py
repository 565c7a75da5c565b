"""Cells as text: the operations of each node and where its edges come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.errors import SpaceError
from meritnas.wording import shortened


@dataclass(frozen=True)
class NodeText:
    """`|op~0|+|op~0|op~1|+|op~0|op~1|op~2|`: the operations of each node and their sources.

    Attributes:
        kind: what such a text is, for whoever wrote another.
        edges: (node from 1 on, the node that its edge comes from), in the order of decisions.
        example: an operation.
    """

    kind: str
    edges: tuple[tuple[int, int], ...]
    example: str

    def format(self, options: Sequence[str]) -> str:
        """Nodes joined by +."""
        nodes: dict[int, str] = {}
        for (node, source), name in zip(self.edges, options, strict=True):
            nodes[node] = nodes.get(node, "|") + f"{name}~{source}|"
        return "+".join(nodes.values())

    def parse(self, text: str) -> tuple[str, ...]:
        """The operations by edge."""
        example = self.format((self.example,) * len(self.edges))
        shown = shortened(text, 300)
        wrong = SpaceError(f"'{shown}' is no {self.kind}, which is written like {example}")
        found: dict[tuple[int, str], str] = {}
        for number, part in enumerate(text.strip().split("+"), start=1):
            for edge in part.strip().strip("|").split("|"):
                name, _, source = edge.strip().partition("~")
                if (number, source) in found:
                    raise wrong
                found[number, source] = name
        if set(found) != {(node, str(source)) for node, source in self.edges}:
            raise wrong
        return tuple(found[node, str(source)] for node, source in self.edges)
