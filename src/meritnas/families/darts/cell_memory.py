"""What a cell of DARTS takes at once, followed edge by edge.

A cell's nodes are kept until it ends. What it reads, brought to its channels, is kept for as long
as an edge to come reads it, which depends on decisions that come later. So what was taken since an
input was read last waits, without that input, until it is read again or the cell ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from meritnas.families.darts.child import EDGES, NODES

Amounts = tuple[int, ...]
"""Bytes, in each of the cells that have the same decisions."""


class Taken(NamedTuple):
    """What an operation takes beside what it reads; of the same inputs it makes a node.

    Attributes:
        reading: at most, while it still reads; None where it looks at shapes only.
        after: at most, once it does not; None where it reads to its end.
    """

    reading: Amounts | None
    after: Amounts | None


SAME = Taken(None, None)
"""Of an operation that gives what it reads."""

_NOTHING, _OWN = -1, -2
"""Where the sum of a node is: nowhere yet, or in room of its own; else in that of a state."""


@dataclass(frozen=True)
class CellKind:
    """All cells that have the same decisions.

    Attributes:
        first: the number of their first decision.
        node: bytes of a node.
        inputs: of each of the two inputs, once they have the cell's channels.
        kept: what is kept beside for the cell that follows.
        begun: what is alive when the second input is made, but for the first.
        taken: of each option of each edge; None where the edge is not there.
    """

    first: int
    node: Amounts
    inputs: tuple[Amounts, Amounts]
    kept: Amounts
    begun: Amounts
    taken: tuple[tuple[Taken | None, ...], ...]


@dataclass(frozen=True)
class CellMemory:
    """A cell after some of its edges.

    Attributes:
        kind: whose.
        waiting: (input, what was taken since it was read last and before the next one was, without
            it and those before it), the one that was read first is first.
        held: inputs that are a node, too, and therefore kept.
        total: where the sum of the node in hand is.
        rooms: of every state, inputs first, the number of the state whose room it has.
        own: how many nodes have room of their own.
    """

    kind: CellKind = field(compare=False, repr=False)
    waiting: tuple[tuple[int, Amounts], ...]
    held: frozenset[int] = frozenset()
    total: int = _NOTHING
    rooms: tuple[int, ...] = (0, 1)
    own: int = 0

    @staticmethod
    def begin(kind: CellKind) -> CellMemory:
        """Both inputs are there, the second was made last."""
        return CellMemory(kind, ((0, kind.begun), (1, (0,) * len(kind.node))))

    def after(self, edge: int, taken: Taken | None) -> tuple[CellMemory, int]:
        """(the cell after an edge, what it is known to have taken by then).

        Args:
            edge: its number; edges come in order.
            taken: what its operation takes; None where it is not there.
        """
        cell, known = self, 0
        if taken is not None:
            cell, known = self._run(self.rooms[EDGES[edge][1]], taken)
        if edge + 1 < len(EDGES) and EDGES[edge + 1][0] == EDGES[edge][0]:
            return cell, known
        cell, ended = cell._node_ends()
        if edge + 1 == len(EDGES):
            ended = max(ended, cell._ends())
        return cell, max(known, ended)

    def within(self, most: int) -> CellMemory:
        """The same without what cannot be too much, so that fewer cells differ."""
        inputs = _sum(*self.kind.inputs)
        nothing = (0,) * len(self.kind.node)
        kept = tuple(
            (each, amounts if max(_sum(amounts, inputs)) > most else nothing)
            for each, amounts in self.waiting
        )
        return replace(self, waiting=kept)

    def _run(self, room: int, taken: Taken) -> tuple[CellMemory, int]:
        """An operation on what stands in a room, and the sum of the node with what it gives."""
        total = self.total
        sum_reads = (total,) if total >= 0 else ()
        if taken == SAME:
            if total in (_NOTHING, room):
                return replace(self, total=room), 0
            cell, known = self._moment((), (*sum_reads, room))
            if total >= 0:  # neither may be free; where one is, the other moment is as large
                cell = replace(cell, total=_OWN)
                cell, more = cell._moment((), ())
                known = max(known, more)
            return replace(cell, total=_OWN), known
        cell, known = self, 0
        if taken.reading is not None:
            cell, known = cell._moment((taken.reading,), (room, *sum_reads))
        if taken.after is not None:
            cell, more = cell._moment((taken.after,), sum_reads)
            known = max(known, more)
        return replace(cell, total=_OWN), known

    def _node_ends(self) -> tuple[CellMemory, int]:
        """The sum becomes a state; zeros, where there is none."""
        number, cell, known = len(self.rooms), self, 0
        if self.total == _NOTHING:
            cell, known = replace(self, total=_OWN)._moment((), ())
        if cell.total == _OWN:
            rooms = (*cell.rooms, number)
            return replace(cell, total=_NOTHING, rooms=rooms, own=cell.own + 1), known
        room = cell.total
        if room < 2 and room not in cell.held:
            cell, known = cell._read({room})
            cell = replace(cell, held=cell.held | {room})
        return replace(cell, total=_NOTHING, rooms=(*cell.rooms, room)), known

    def _ends(self) -> int:
        """What was taken at most, now that inputs are not read again, and by the cell's output."""
        output = tuple(NODES * amount for amount in self.kind.node)
        found = [self._alive((output,)), *(amounts for _, amounts in self.waiting)]
        return max(map(max, found))

    def _alive(self, more: Sequence[Amounts]) -> Amounts:
        """Bytes that are there whatever is read later, with something more."""
        own = self.own + (self.total == _OWN)
        nodes = tuple(own * amount for amount in self.kind.node)
        return _sum(self.kind.kept, nodes, *(self.kind.inputs[k] for k in self.held), *more)

    def _moment(self, more: Sequence[Amounts], rooms: Collection[int]) -> tuple[CellMemory, int]:
        """Something runs that takes so much and reads what stands in these rooms."""
        read = [room for room in dict.fromkeys(rooms) if room < 2 and room not in self.held]
        cell, known = self._read(read)
        amounts = cell._alive([*more, *(self.kind.inputs[room] for room in read)])
        waiting = list(cell.waiting)
        if waiting:
            last, before = waiting[-1]
            waiting[-1] = last, _most(before, amounts)
        else:
            known = max(known, *amounts)
        waiting += [(room, (0,) * len(amounts)) for room in read]
        return replace(cell, waiting=tuple(waiting)), known

    def _read(self, rooms: Collection[int]) -> tuple[CellMemory, int]:
        """Inputs turn out to have been alive all along."""
        waiting, known = list(self.waiting), 0
        for room in rooms:
            place = next((k for k, (each, _) in enumerate(waiting) if each == room), None)
            if place is None:
                continue
            size = self.kind.inputs[room]
            waiting[place:] = [(each, _sum(own, size)) for each, own in waiting[place:]]
            _, amounts = waiting.pop(place)
            if place:
                before, own = waiting[place - 1]
                waiting[place - 1] = before, _most(own, amounts)
            else:
                known = max(known, *amounts)
        return replace(self, waiting=tuple(waiting)), known


def _sum(*rows: Amounts) -> Amounts:
    return tuple(map(sum, zip(*rows, strict=True)))


def _most(*rows: Amounts) -> Amounts:
    return tuple(map(max, zip(*rows, strict=True)))
