"""The memory that networks of DARTS' cells need at once, as `families.live_memory` counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Bound, automaton
from meritnas.cost.terms import amount_text
from meritnas.families.darts.cell_memory import SAME, CellKind, CellMemory, Taken
from meritnas.families.darts.child import (
    EDGES,
    NODES,
    CellPlan,
    DartsCell,
    Preprocess,
    stem_states,
)
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT, moments, peak_bytes
from meritnas.families.operations import CHILD, NONE, make_operation
from meritnas.space.rule import Levels, of_equal_size

if TYPE_CHECKING:
    from meritnas.families.darts.family import DartsSpace

Shape = tuple[int, ...]


@dataclass(frozen=True)
class CellsPeak:
    """The most that any cell of a network takes at once, or what is outside of them.

    Attributes:
        kinds: of cells, in the order of their decisions.
        always: what every network takes.
        rule: of the space; None where all architectures are valid.
        unit: what is counted.
    """

    kinds: tuple[CellKind, ...]
    always: int
    rule: Levels | None
    unit: str = PEAK_UNIT

    @property
    def most(self) -> int:
        """No architecture costs more: as if a cell kept all it can, beside its largest edge."""
        found = [self.always]
        for kind in self.kinds:
            taken = [each for row in kind.taken for each in row if each is not None]
            parts = [own for each in taken for own in each if own is not None]
            largest = np.max([kind.begun, *parts], axis=0)
            kept = np.sum([kind.kept, *kind.inputs], axis=0) + (2 * NODES + 1) * np.array(kind.node)
            found.append(int((largest + kept).max()))
        return max(found)

    def text(self, amount: int) -> str:
        """In kilobytes."""
        return amount_text(amount, 1000)

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        return np.array([self._of(row) for row in picks.tolist()], dtype=np.int64)

    def _of(self, picks: Sequence[int]) -> int:
        largest = self.always
        for kind in self.kinds:
            cell = CellMemory.begin(kind)
            for edge, options in enumerate(kind.taken):
                cell, known = cell.after(edge, options[picks[kind.first + edge]])
                largest = max(largest, known)
        return largest

    def bound(self, most: int) -> Bound:
        """An automaton: what cells can be like after each edge."""
        levels: list[np.ndarray] = []
        for kind in self.kinds:
            decisions = slice(kind.first, kind.first + len(EDGES))
            walk = _Walk(kind, most, None if self.rule is None else self.rule[decisions])
            sizes = [len(options) for options in kind.taken]
            begin = 0, CellMemory.begin(kind).within(most)
            levels += automaton(begin, walk.after, sizes, most)
        if self.always > most:
            levels[0] = np.full_like(levels[0], -1)
        return Bound((), of_equal_size(levels), of_maximum=True)


@dataclass(frozen=True)
class _Walk:
    """Edges in order; what breaks the space's rule is not followed."""

    kind: CellKind
    most: int
    rule: Levels | None

    def after(
        self, edge: int, state: tuple[int, CellMemory], option: int
    ) -> tuple[tuple[int, CellMemory] | None, int]:
        ruled, cell = state
        following = 0 if self.rule is None else int(self.rule[edge][ruled, option])
        if following < 0:
            return None, 0
        found, known = cell.after(edge, self.kind.taken[edge][option])
        return (following, found.within(self.most)), known


def peak_cost(family: DartsSpace) -> CellsPeak:
    """Everything that is alike in all networks, and kinds of cells."""
    with torch.device("meta"):
        bare = family.bare().eval()
        image = torch.zeros(1, *family.image)
        states = stem_states(bare.stem, image)
        always = [peak_bytes(partial(stem_states, bare.stem), [image])]
        shapes = [tuple(one.shape[1:]) for one in states]
        shapes += [(NODES * plan.channels, plan.height, plan.width) for plan in family.plans]
        for number, cell in enumerate(bare.cells):
            assert isinstance(cell, DartsCell)
            same = states[0] is states[1] and number == 0
            always.append(_first_made(cell.inputs, shapes[number : number + 2], same))
        last = NODES * family.plans[-1].channels
        always.append(_bytes(shapes[-1]) + BYTES_A_NUMBER * last)
        always.append(BYTES_A_NUMBER * (last + family.classes))
        kinds = [_kind(family, shapes, first) for first in sorted(set(family.starts))]
    return CellsPeak(tuple(kinds), max(always), family.space.levels)


def _first_made(inputs: Preprocess, shapes: Sequence[Shape], same: bool) -> int:
    """What is alive while a cell makes its first input.

    Args:
        inputs: what makes it.
        shapes: of the states before.
        same: whether these are one.
    """
    first, second = map(_bytes, shapes)
    taken = _taken(inputs.first, shapes[0])
    beside = 0 if same else second
    found = [beside + first + taken[0]] if taken[0] is not None else []
    if taken[1] is not None:
        found.append(beside + (first if same else 0) + taken[1])
    return max(found)


def _kind(family: DartsSpace, shapes: Sequence[Shape], first: int) -> CellKind:
    """The cells whose decisions begin here; of those that are alike, one."""
    cells = dict.fromkeys(
        (plan, shapes[number + 1], number + 1 == len(family.plans))
        for number, (plan, start) in enumerate(zip(family.plans, family.starts, strict=True))
        if start == first
    )
    # A cell's inputs, brought to its channels, are as large as the state before.
    inputs = tuple(_bytes((plan.channels, *before[1:])) for plan, before, _ in cells)
    begun = [_bytes(before) + own for (_, before, _), own in zip(cells, inputs, strict=True)]
    return CellKind(
        first,
        tuple(_bytes((plan.channels, plan.height, plan.width)) for plan, _, _ in cells),
        (inputs, inputs),
        tuple(0 if last else _bytes(before) for _, before, last in cells),
        tuple(begun),
        tuple(
            tuple(_option(name, edge, list(cells)) for name in family.options[first + edge])
            for edge in range(len(EDGES))
        ),
    )


def _option(name: str, edge: int, cells: Sequence[tuple[CellPlan, Shape, bool]]) -> Taken | None:
    """What an operation takes on an edge of these cells."""
    if name == NONE:
        return None
    each = []
    for plan, before, _ in cells:
        side = before[1:] if EDGES[edge][1] < 2 else (plan.height, plan.width)
        own = _of_operation(name, plan.stride(edge), (plan.channels, *side))
        if own is None:
            return SAME
        each.append(own)
    reading, after = zip(*each, strict=True)
    return Taken(None if None in reading else reading, None if None in after else after)


@lru_cache(maxsize=4096)
def _of_operation(name: str, stride: int, shape: Shape) -> tuple[int | None, int | None] | None:
    """What an operation takes that reads maps of this shape; None if it gives what it reads."""
    with torch.device("meta"):
        made = make_operation(name, shape[0], stride, CHILD).eval()
        return None if isinstance(made, nn.Identity) else _taken(made, shape)


def _taken(module: nn.Module, shape: Shape) -> tuple[int | None, int | None]:
    """Of one operation on the `meta` device: (most while it reads, most once it does not)."""
    found = moments(module, [torch.zeros(1, *shape, device="meta")])
    reading = [one.own for one in found if one.inputs]
    after = [one.own for one in found if not one.inputs]
    return max(reading, default=None), max(after, default=None)


def _bytes(shape: Sequence[int]) -> int:
    return BYTES_A_NUMBER * math.prod(shape)
