"""What a network for several modalities takes at once, followed decision by decision.

First come the decisions on features, feature by feature, for all cells each; then cell by cell the
other ones. What cells may read at all, the space's rule, is followed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from meritnas.families.fusion.text import EITHER, NONE, CellPlan
from meritnas.space.rule import X, Y

_BOTH = 3
"""What a node reads: nothing, x, y, both, in two bits."""


@dataclass(frozen=True)
class Sizes:
    """How large everything is, in bytes.

    Attributes:
        row: what comes in.
        feature: a feature as cells read it.
        modalities: of each feature, whose it is.
        parts: of each feature, as it comes in or from a backbone.
        reshaped: of each feature, what bringing it to the shape of cells takes, its part included.
        reading: modality, which of its features are wanted -> what it takes to have them.
        operations: (name, which of its two inputs are read again) -> what it takes beside inputs
            that are, and those others that it still reads.
        always: what every network takes.
    """

    row: int
    feature: int
    modalities: tuple[int, ...]
    parts: tuple[int, ...]
    reshaped: tuple[int, ...]
    reading: Callable[[int, tuple[bool, ...]], int]
    operations: Callable[[str, bool, bool], int]
    always: int


class Reader(NamedTuple):
    """The features so far.

    Attributes:
        wanted: of the present modality, which of its features are.
        parts: bytes of what is wanted of the modalities so far.
        most: the most at a feature's reshaping so far, without parts of later ones.
        features: how many are wanted.
        cells: which cells read the present feature: 0, x or y of each so far.
        missed: of each cell, whether a feature is read by no cell before it.
    """

    wanted: tuple[bool, ...] = ()
    parts: int = 0
    most: int = 0
    features: int = 0
    cells: tuple[int, ...] = ()
    missed: tuple[bool, ...] = ()


class Cells(NamedTuple):
    """What is known of each cell.

    Attributes:
        roles: what of x and y it has.
        kept: how many features are alive when it does not need its y any more, its x included.
        lasting: whether its y is read again after it.
        new: whether it reads a feature that no cell before does.
    """

    roles: tuple[int, ...]
    kept: tuple[int, ...]
    lasting: tuple[bool, ...]
    new: tuple[bool, ...]


class Steps(NamedTuple):
    """The steps of the present cell so far.

    Attributes:
        done: how many.
        edges: of the present one, what of x and y it has, and where from.
        again: what was taken at most since y was read, if it is read again.
        never: the same if it is not.
    """

    done: int = 0
    edges: tuple[tuple[int, int], ...] = ()
    again: int = 0
    never: int = 0


@dataclass(frozen=True)
class State:
    """Where a walk is; parts that are done with are as at their beginning."""

    reader: Reader
    cells: Cells
    steps: Steps


class Place(NamedTuple):
    """What a decision is about.

    Attributes:
        number: of the decision.
        cell: which, from 0 on.
        feature: which one it may read; None for others.
        source: of an edge, which state it comes from; None for operations.
        step: which of the cell's, from 0 on; None for edges into the cell.
        last: whether it is the last about its feature, cell or step's edges.
    """

    number: int
    cell: int
    feature: int | None
    source: int | None
    step: int | None
    last: bool


def places(plans: Sequence[CellPlan], features: int) -> list[Place]:
    """The decisions as they are read."""
    cells = len(plans)
    found = [
        Place(plan.edges[k], number, k, k, None, number + 1 == cells)
        for k in range(features)
        for number, plan in enumerate(plans)
    ]
    for number, plan in enumerate(plans):
        before = plan.edges[features:]
        for count, edge in enumerate(before):
            source = features + count
            found.append(Place(edge, number, None, source, None, count + 1 == len(before)))
        for count, step in enumerate(plan.steps):
            for source, edge in enumerate(step.edges):
                last = source + 1 == len(step.edges)
                found.append(Place(edge, number, None, source, count, last))
            found.append(Place(step.operation, number, None, None, count, True))
    return found


@dataclass(frozen=True)
class Walk:
    """All decisions in order.

    Attributes:
        sizes: of everything.
        places: what the decisions are about, as they are read.
        options: of each decision, by its number.
        plans: of the cells.
        fresh: whether each cell reads a feature that no cell before it does, while there is one.
    """

    sizes: Sizes
    places: tuple[Place, ...]
    options: tuple[tuple[str, ...], ...]
    plans: tuple[CellPlan, ...]
    fresh: bool

    def begin(self) -> State:
        """Nothing is read yet."""
        count = len(self.plans)
        none = (False,) * count
        cells = Cells((0,) * count, (0,) * count, none, none)
        return State(Reader(missed=none), cells, Steps())

    def after(self, place: int, state: State, option: int) -> tuple[State | None, int]:
        """The state after an option, None where it is not allowed; what is known to be taken."""
        about = self.places[place]
        name = self.options[about.number][option]
        if about.feature is not None:
            return self._feature(about, state, name)
        if about.step is None:
            return self._cell_edge(about, state, name)
        if about.source is not None:
            return self._step_edge(about, state, name), 0
        return self._operation(about, state, name)

    def _feature(self, about: Place, state: State, name: str) -> tuple[State | None, int]:
        role = _role(name, state.cells.roles[about.cell])
        if role is None:
            return None, 0
        roles = _changed(state.cells.roles, about.cell, state.cells.roles[about.cell] | role)
        reader = state.reader._replace(cells=(*state.reader.cells, role))
        state = replace(state, reader=reader, cells=state.cells._replace(roles=roles))
        if not about.last:
            return state, 0
        return self._feature_ends(about, state)

    def _feature_ends(self, about: Place, state: State) -> tuple[State | None, int]:
        """All cells are asked about a feature."""
        assert about.feature is not None
        number, reading, sizes = about.feature, state.reader.cells, self.sizes
        readers = [cell for cell, role in enumerate(reading) if role]
        last = max(readers, default=-1)
        cells = state.cells._replace(
            kept=tuple(
                count + (last > cell or reading[cell] == 1)
                for cell, count in enumerate(state.cells.kept)
            ),
            lasting=tuple(
                lasts or (reading[cell] == 2 and last > cell)
                for cell, lasts in enumerate(state.cells.lasting)
            ),
        )
        missed = state.reader.missed
        if self.fresh:
            first = min(readers, default=len(reading))
            new = tuple(own or cell == first for cell, own in enumerate(cells.new))
            cells = cells._replace(new=new)
            missed = tuple(own or cell <= first for cell, own in enumerate(missed))
        reader = state.reader._replace(cells=(), missed=missed)
        reader, known = self._read(number, reader, bool(readers))
        if number + 1 < len(sizes.modalities):
            return State(reader, cells, state.steps), known
        if self.fresh and any(m and not n for m, n in zip(missed, cells.new, strict=True)):
            return None, 0
        known = max(known, reader.most)
        ended = cells._replace(new=(False,) * len(reading))
        return State(Reader(), ended, state.steps), known

    def _read(self, number: int, reader: Reader, wanted: bool) -> tuple[Reader, int]:
        """A feature's reshaping, and all of its modality if it is the last of that."""
        sizes = self.sizes
        modality, flags = sizes.modalities[number], (*reader.wanted, wanted)
        if wanted:
            most = reader.most + sizes.parts[number] if reader.features else 0
            own = sizes.row + reader.features * sizes.feature + sizes.reshaped[number]
            reader = reader._replace(most=max(most, own), features=reader.features + 1)
        if number + 1 < len(sizes.modalities) and sizes.modalities[number + 1] == modality:
            return reader._replace(wanted=flags), 0
        known, parts = 0, reader.parts
        if any(flags):
            known = sizes.row + parts + sizes.reading(modality, flags)
        begin = number + 1 - len(flags)
        for want, size in zip(flags, sizes.parts[begin : number + 1], strict=True):
            parts += size if want else 0
        return reader._replace(wanted=(), parts=parts), known

    def _cell_edge(self, about: Place, state: State, name: str) -> tuple[State | None, int]:
        """An edge from a cell, which lasts to the end."""
        role = _role(name, state.cells.roles[about.cell])
        if role is None:
            return None, 0
        cells = state.cells
        cells = cells._replace(
            roles=_changed(cells.roles, about.cell, cells.roles[about.cell] | role)
        )
        if role == 2:
            cells = cells._replace(lasting=_changed(cells.lasting, about.cell, True))
        return replace(state, cells=cells), 0

    def _step_edge(self, about: Place, state: State, name: str) -> State | None:
        assert about.source is not None
        cell, steps = about.cell, state.steps
        if state.cells.roles[cell] != _BOTH:
            return None
        had = sum(role for role, _ in steps.edges)
        role = _role(name, had)
        if role is None:
            return None
        if role:
            steps = steps._replace(edges=(*steps.edges, (role, about.source)))
        if about.last and len(steps.edges) != 2:
            return None
        return replace(state, steps=steps)

    def _operation(self, about: Place, state: State, name: str) -> tuple[State | None, int]:
        """A step runs; after a cell's last one all steps are joined with its x."""
        assert about.step is not None
        unit, cells, steps, cell = self.sizes.feature, state.cells, state.steps, about.cell
        alive = (cells.kept[cell] + cell + about.step) * unit
        sources = [source for _, source in sorted(steps.edges)]  # of x, then of y
        takes = self.sizes.operations
        if cells.lasting[cell]:
            known, steps = alive + takes(name, True, True), Steps(about.step + 1)
        elif 1 in sources:
            kept = [source != 1 for source in sources]
            again = alive + unit + takes(name, True, True)
            known = steps.again
            steps = Steps(about.step + 1, (), again, alive + takes(name, *kept))
        else:
            more = alive + takes(name, True, True)
            known = 0
            again, never = max(steps.again, more + unit), max(steps.never, more)
            steps = Steps(about.step + 1, (), again, never)
        if about.step + 1 < len(self.plans[cell].steps):
            return replace(state, steps=steps), known
        joining = (cells.kept[cell] + cell + 2 * (about.step + 1)) * unit
        known = max(known, steps.never, joining)
        done = Cells(
            _changed(cells.roles, cell, 0),
            _changed(cells.kept, cell, 0),
            _changed(cells.lasting, cell, False),
            cells.new,
        )
        return replace(state, cells=done, steps=Steps()), known


def _role(name: str, had: int) -> int | None:
    """What an edge makes of its source: 0 for nothing, 1 for x, 2 for y; None if that is taken."""
    if name == NONE:
        return 0
    role = {X: 1, Y: 2}.get(name) if name != EITHER else (1 if had == 0 else 2)
    assert role is not None
    return None if had & role else role


def _changed(row: tuple, place: int, value: object) -> tuple:
    return (*row[:place], value, *row[place + 1 :])
