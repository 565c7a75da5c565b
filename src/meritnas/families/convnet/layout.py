"""The options of networks in stages as numbers, and where their decisions stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meritnas.cost.terms import Factor
from meritnas.families.convnet.network import LEAST_STAGES, NO, YES, Side
from meritnas.families.image_size import ImageShape
from meritnas.families.operations import halved

Row = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Layout:
    """What costs of networks in stages are counted by.

    Attributes:
        image: (channels, height, width) of what comes in.
        classes: how many numbers come out.
        options: names of the options of every decision: the size of images, then for each stage
            whether it is there (of those that may be absent), how many blocks, which, how wide.
    """

    image: ImageShape
    classes: int
    options: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of options of each decision."""
        return tuple(map(len, self.options))

    @property
    def stages(self) -> int:
        """How many there are at most."""
        return len(self.rows)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """(depths, blocks, widths) of each stage."""
        found: list[Row] = []
        left = list(self.options[1:])
        while left:
            if len(found) >= LEAST_STAGES:
                left.pop(0)
            found.append((left.pop(0), left.pop(0), left.pop(0)))
        return tuple(found)

    def place(self, stage: int) -> int:
        """The decision about how many blocks a stage has; which and how wide follow it."""
        return 1 + 3 * stage + max(0, stage + 1 - LEAST_STAGES)

    def befores(self, stage: int) -> list[int]:
        """Channels that may come into a stage."""
        return self.numbers(stage - 1)[2] if stage else [self.image[0]]

    def numbers(self, stage: int) -> tuple[list[int], tuple[str, ...], list[int]]:
        """(depths, blocks, widths) of a stage."""
        depths, names, widths = self.rows[stage]
        return [int(n) for n in depths], names, [int(n) for n in widths]

    def sides(self, stage: int) -> list[Side]:
        """Height and width in a stage for each size of images."""
        found = []
        for text in self.options[0]:
            height, _, width = text.partition("x")
            side = int(height), int(width)
            for _ in range(stage):
                side = halved(side[0]), halved(side[1])
            found.append(side)
        return found

    def there(self, stage: int, numbers: tuple[int, ...], table: np.ndarray) -> Factor:
        """What a stage costs, which costs nothing where it is absent.

        Args:
            stage: which.
            numbers: the decisions that the table is over.
            table: what it costs where it is there.
        """
        if stage < LEAST_STAGES:
            return _ordered(numbers, table)
        place = self.place(stage) - 1
        own = np.array([name == YES for name in self.options[place]])
        return _ordered((*numbers, place), table[..., None] * own)

    def ends(self, stage: int, numbers: tuple[int, ...], table: np.ndarray) -> Factor:
        """What follows a stage costs, where it is the last that is there; the same arguments."""
        if stage + 1 < min(LEAST_STAGES, self.stages):
            return _ordered(numbers, np.zeros_like(table))
        if stage + 1 < self.stages:
            place = self.place(stage + 1) - 1
            last = np.array([name == NO for name in self.options[place]])
            numbers, table = (*numbers, place), table[..., None] * last
        return self.there(stage, numbers, table)


def _ordered(numbers: tuple[int, ...], table: np.ndarray) -> Factor:
    """A factor whose decisions come in their order."""
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return Factor(tuple(numbers[i] for i in order), np.ascontiguousarray(table.transpose(order)))
