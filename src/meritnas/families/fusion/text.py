"""Networks that fuse modalities as text, and where their decisions are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.errors import SpaceError
from meritnas.space.rule import X, Y
from meritnas.wording import did_you_mean, shortened

NONE = "none"
EITHER = "skip"
"""The option of an edge that feeds both inputs of its node."""

FORBIDDEN = "(),:;=+<"
"""What names of modalities may not have, because it stands between them here."""

_CELL = re.compile(r"\s*(\w+)\s*\(([^(),]*),([^(),]*)\)\s*:(.*)", re.DOTALL)
_STEP = re.compile(r"\s*(\w+)\s*=\s*(\w+)\s*\(([^(),]*),([^(),]*)\)\s*")


@dataclass(frozen=True)
class StepPlan:
    """Where the decisions of a step are.

    Attributes:
        edges: the decisions on what it reads: x and y of the cell and the steps before, in order.
        operation: the decision on its operation.
    """

    edges: tuple[int, ...]
    operation: int


@dataclass(frozen=True)
class CellPlan:
    """Where the decisions of a cell are.

    Attributes:
        edges: the decisions on what it reads: features, and then perhaps cells before, in order.
        steps: its steps, in order.
    """

    edges: tuple[int, ...]
    steps: tuple[StepPlan, ...]


def plan_cells(features: int, cells: int, steps: int, unimodal_only: bool) -> tuple[CellPlan, ...]:
    """The decisions in order: cell by cell its edges, and step by step edges and operation."""
    found = []
    start = 0
    for cell in range(cells):
        edges = tuple(range(start, start + features + (0 if unimodal_only else cell)))
        start += len(edges)
        own = []
        for step in range(steps):
            own.append(StepPlan(tuple(range(start, start + 2 + step)), start + 2 + step))
            start += 3 + step
        found.append(CellPlan(edges, tuple(own)))
    return tuple(found)


def decision_names(
    plans: Sequence[CellPlan], sources: Sequence[str]
) -> tuple[dict[int, str], list[int]]:
    """What decisions are called, by number; how many edges each node in turn has, 0 for none."""
    names: dict[int, str] = {}
    groups: list[int] = []
    for number, plan in enumerate(plans, start=1):
        for source, i in zip(sources, plan.edges, strict=False):
            names[i] = f"cell{number}<-{source}"
        groups.append(len(plan.edges))
        for count, step in enumerate(plan.steps, start=1):
            own = f"cell{number}.step{count}"
            inner = inner_names(count)
            names.update(
                (i, f"{own}<-{source}") for source, i in zip(inner, step.edges, strict=True)
            )
            names[step.operation] = own
            groups += [len(step.edges), 0]
    return names, groups


def ends(names: Sequence[str]) -> tuple[int, int]:
    """Of the chosen options of a node's edges: which edge is x, which is y."""
    if X in names:
        return names.index(X), names.index(Y)
    first, second = (i for i, name in enumerate(names) if name != NONE)
    return first, second


ChosenCell = tuple[tuple[int, int], list[tuple[str, int, int]]]
"""The states that are x and y of a cell; of its steps the operation and what they read."""


def chosen_cells(plans: Sequence[CellPlan], options: Sequence[str]) -> list[ChosenCell]:
    """The cells of the network that these options, one for each decision, choose."""
    return [
        (
            ends([options[i] for i in plan.edges]),
            [
                (options[step.operation], *ends([options[i] for i in step.edges]))
                for step in plan.steps
            ],
        )
        for plan in plans
    ]


@dataclass(frozen=True)
class FusionText:
    """`cell1(image.0, audio.1): step1 = glu(x, y); step2 = sum(step1, x) + cell2(cell1, ...`.

    Attributes:
        plans: of the cells.
        sources: the names of all features and cells, in order.
        shared: whether an edge feeds both inputs; then x is always the earlier of the two.
    """

    plans: tuple[CellPlan, ...]
    sources: tuple[str, ...]
    shared: bool

    def format(self, options: Sequence[str]) -> str:
        """Cells joined by +, steps by ;."""
        return "".join(self.lines(options))

    def lines(self, options: Sequence[str]) -> list[str]:
        """The same, a cell a line."""
        cells = []
        for number, ((x, y), steps) in enumerate(chosen_cells(self.plans, options), start=1):
            names = inner_names(len(steps) + 1)
            written = [
                f"step{count} = {operation}({names[first]}, {names[second]})"
                for count, (operation, first, second) in enumerate(steps, start=1)
            ]
            cells.append(
                f"cell{number}({self.sources[x]}, {self.sources[y]}): {'; '.join(written)}"
            )
        return [*(f"{cell} + " for cell in cells[:-1]), cells[-1]]

    def parse(self, text: str) -> tuple[str, ...]:
        """The options by decision."""
        parts = text.split("+")
        found: dict[int, str] = {}
        if len(parts) != len(self.plans):
            raise self._wrong(text)
        for number, (part, plan) in enumerate(zip(parts, self.plans, strict=True), start=1):
            cell = _CELL.fullmatch(part)
            if cell is None or cell[1] != f"cell{number}":
                raise self._wrong(text)
            sources = self.sources[: len(plan.edges)]
            found.update(self._edges(cell[1], plan.edges, sources, (cell[2], cell[3])))
            written = cell[4].split(";")
            if len(written) != len(plan.steps):
                raise self._wrong(text)
            for count, (line, step) in enumerate(zip(written, plan.steps, strict=True), start=1):
                match = _STEP.fullmatch(line)
                if match is None or match[1] != f"step{count}":
                    raise self._wrong(text)
                name = f"cell{number}.{match[1]}"
                found.update(
                    self._edges(name, step.edges, inner_names(count), (match[3], match[4]))
                )
                found[step.operation] = match[2]
        return tuple(found[i] for i in range(len(found)))

    def _edges(
        self, name: str, edges: Sequence[int], sources: Sequence[str], read: Sequence[str]
    ) -> dict[int, str]:
        """The options of a node's edges by decision."""
        chosen = []
        for source in map(str.strip, read):
            if source not in sources:
                raise SpaceError(
                    f"{name} cannot read '{source}';{did_you_mean(source, sources)} it reads two "
                    f"of {', '.join(sources)}"
                )
            chosen.append(sources.index(source))
        if chosen[0] == chosen[1]:
            raise SpaceError(f"{name} reads two different inputs, got {read[0].strip()} twice")
        if self.shared and chosen[0] > chosen[1]:
            raise SpaceError(
                f"in a space with shared inputs the earlier one comes first: write {name}"
                f"({sources[chosen[1]]}, {sources[chosen[0]]})"
            )
        roles = (EITHER, EITHER) if self.shared else (X, Y)
        names = dict.fromkeys(edges, NONE)
        names.update(zip((edges[i] for i in chosen), roles, strict=True))
        return names

    def _wrong(self, text: str) -> SpaceError:
        options: dict[int, str] = {}
        for plan in self.plans:
            for step in plan.steps:
                options.update(self._edges("", step.edges, (X, Y), (X, Y)))
                options[step.operation] = "sum"
            two = self.sources[:2]
            options.update(self._edges("", plan.edges, two, two))
        example = self.format([options[i] for i in range(len(options))])
        shown = shortened(text, 300)
        return SpaceError(f"'{shown}' is no fusion network, which is written like {example}")


def longest_text(
    plans: Sequence[CellPlan], sources: Sequence[str], options: Sequence[Sequence[str]]
) -> str:
    """A text that no network's is longer than."""
    cells = []
    for number, plan in enumerate(plans, start=1):
        read = max(sources[: len(plan.edges)], key=_length)
        steps = []
        for count, step in enumerate(plan.steps, start=1):
            operation, own = max(options[step.operation], key=len), inner_names(count)[-1]
            steps.append(f"step{count} = {operation}({own}, {own})")
        cells.append(f"cell{number}({read}, {read}): {'; '.join(steps)}")
    return " + ".join(cells)


def _length(text: str) -> int:
    """Of a text in JSON, which writes some letters with several."""
    return len(json.dumps(text))


def inner_names(step: int) -> tuple[str, ...]:
    """What the step of this number, from 1 on, may read."""
    return (X, Y, *(f"step{before}" for before in range(1, step)))
