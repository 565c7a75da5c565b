"""A network as a picture: layers as boxes, cells as graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.families.drawing import DEAD, Drawing, Node
from meritnas.report.charts.svg import COLOURS, NARROW_LETTER, Picture, rect, svg, text

_BOX, _GAP = 52.0, 30.0
_LEFT, _NODE_HEIGHT, _PILL_HEIGHT = 6.0, 24.0, 19.0
_LANE = 9.0
_DEAD = " dashed"
"""The class of dead edges."""

_FIT = 5
"""Boxes that a phone shows side by side and that can still be read."""


def layers_picture(title: str, widths: Sequence[tuple[str, int]]) -> Picture:
    """Layers as boxes from left to right: (what it is, its width), taller where wider."""
    most = max((width for _, width in widths), default=1)
    height, middle = 150.0, 66.0
    parts = []
    for number, (name, width) in enumerate(widths):
        x = 6.0 + number * (_BOX + _GAP)
        share = math.log1p(width) / math.log1p(most) if most > 1 else 1.0
        tall = 28.0 + 92.0 * share
        hidden = 0 < number < len(widths) - 1
        kind = "node strong" if hidden else "node"
        parts.append(rect(x, middle - tall / 2, _BOX, tall, kind, f"{name}: {width}"))
        on = "number on" if hidden else "number"
        parts.append(text(x + _BOX / 2, middle + 5, f"{width:,}", on))
        parts.append(text(x + _BOX / 2, height - 8, name, "tick"))
        if number:
            parts.append(_arrow(x - _GAP + 3, middle, x - 3, middle))
    wide = 12.0 + len(widths) * (_BOX + _GAP) - _GAP
    least = wide if len(widths) > _FIT else 0.0
    return svg(title, wide, height, parts, "chart layers", least=least)


def graph_picture(drawing: Drawing) -> Picture:
    """A graph from top to bottom: nodes to the left, what edges do in the middle, lanes right.

    An edge leaves its source to the right, runs down the source's own lane to a pill with its
    operation, and from there down into its node; so no two labels can meet. Dead edges are dashed.
    """
    lanes: dict[str, int] = {}
    for source in (source for node in drawing.nodes for source, _ in node.reads):
        lanes.setdefault(source, len(lanes))
    grid = _Grid.of(drawing)
    places: dict[str, float] = {}
    boxes: list[str] = []
    wires: list[str] = []
    y = 6.0
    for name in drawing.inputs:
        places[name] = y + _NODE_HEIGHT / 2
        boxes += grid.node(name, y, "node")
        y += _NODE_HEIGHT + 12
    for node in drawing.nodes:
        top = y + sum(_row(label) for _, label in node.reads) + 8
        for number, (source, label) in enumerate(node.reads):
            middle, lane = y + _row(label) / 2, lanes[source]
            dead = (source, node.name) in drawing.dead
            wires.append(grid.wire(places[source], lane, middle, number, top, dead=dead))
            boxes += grid.pill(label, source, middle, lane, dead=dead) if label else []
            y += _row(label)
        kind = "node" if node is drawing.nodes[-1] else "node strong"
        boxes += grid.node(_words(node), top, kind)
        places[node.name] = top + _NODE_HEIGHT / 2
        y = top + _NODE_HEIGHT + 10
    width = grid.lanes + _LANE * len(lanes) + 8
    return svg(f"Graph of the {drawing.title}", width, y, [*wires, *boxes], "chart graph")


@dataclass(frozen=True)
class _Grid:
    """How wide the nodes and the pills of a graph are."""

    node_width: float
    pill_width: float

    @staticmethod
    def of(drawing: Drawing) -> _Grid:
        """Wide enough for all words."""
        words = [*drawing.inputs, *map(_words, drawing.nodes)]
        labels = [label for node in drawing.nodes for _, label in node.reads]
        return _Grid(
            max(100.0, 16 + NARROW_LETTER * max(map(len, words))),
            max(40.0, 18 + NARROW_LETTER * max(map(len, labels), default=0)),
        )

    @property
    def pills(self) -> float:
        """Where pills begin."""
        return _LEFT + self.node_width + 20

    @property
    def lanes(self) -> float:
        """Where the first lane is."""
        return self.pills + self.pill_width + 18

    def node(self, words: str, y: float, kind: str) -> list[str]:
        """A box with words in it."""
        on = "number on" if "strong" in kind else "number"
        middle = _LEFT + self.node_width / 2
        return [
            rect(_LEFT, y, self.node_width, _NODE_HEIGHT, kind, words),
            text(middle, y + _NODE_HEIGHT / 2 + 4.5, words, on),
        ]

    def pill(self, label: str, source: str, middle: float, lane: int, *, dead: bool) -> list[str]:
        """What an edge does, or would do."""
        kind = f"pill l{lane % COLOURS}" + _DEAD * dead
        place = self.pills, middle - _PILL_HEIGHT / 2, self.pill_width, _PILL_HEIGHT
        return [
            rect(*place, kind, f"{label} of {source}" + f"; {DEAD}" * dead),
            text(self.pills + self.pill_width / 2, middle + 4, label),
        ]

    def wire(
        self, start: float, lane: int, middle: float, number: int, end: float, *, dead: bool
    ) -> str:
        """From a source by its lane to the row of the edge, and on into the node below."""
        right, bend = _LEFT + self.node_width, 5.0
        x, down = self.lanes + _LANE * lane, right - 14 - number * _LANE
        path = (
            f"M{right:.1f},{start:.1f} H{x - bend:.1f} "
            f"q{bend},0 {bend},{bend} V{middle - bend:.1f} q0,{bend} {-bend},{bend} "
            f"H{down + bend:.1f} q{-bend},0 {-bend},{bend} V{end - 1:.1f} "
            f"M{down - 3.5:.1f},{end - 6:.1f} l3.5,5.5 l3.5,-5.5"
        )
        return f'<path class="wire l{lane % COLOURS}{_DEAD * dead}" d="{path}"/>'


def _row(label: str) -> float:
    return _PILL_HEIGHT + 5 if label else 9.0


def _words(node: Node) -> str:
    return f"{node.name}: {node.joined}" if node.joined else node.name


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<path class="wire plain" d="M{x1:.1f},{y1:.1f} H{x2:.1f} '
        f'M{x2 - 5:.1f},{y2 - 4:.1f} L{x2:.1f},{y2:.1f} L{x2 - 5:.1f},{y2 + 4:.1f}"/>'
    )
