"""What comes into a network for tables: numbers and category codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from meritnas.errors import SpaceError

WIDEST_EMBEDDING = 50


@dataclass(frozen=True)
class TableInputs:
    """What comes into a tabular network: numbers, then category codes, in one float tensor.

    Attributes:
        numbers: how many number columns.
        cardinalities: how many codes (0 to n-1) each category column has.
        embedding: the width of every embedding, or None for the rule of `embedding_width`.
        widest: the most that the rule may give.
        names: of the number columns, then of the category columns; none where nobody said.
        thresholds: of each number column that measures something, what lies between its few whole
            values, as they are encoded, or none where it has many; numbers beyond are parts of
            dates and indicators. None where nobody said, so that each may measure something.
    """

    numbers: int
    cardinalities: tuple[int, ...] = ()
    embedding: int | None = None
    widest: int = WIDEST_EMBEDDING
    names: tuple[str, ...] = ()
    thresholds: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        if self.numbers < 0 or self.numbers + len(self.cardinalities) == 0:
            raise SpaceError(f"a network needs at least one input column, got {self}")
        if any(count < 1 for count in self.cardinalities):
            raise SpaceError(f"a category column needs at least one code, got {self.cardinalities}")
        if self.embedding is not None and self.embedding < 1:
            raise SpaceError(f"an embedding has at least width 1, got {self.embedding}")
        if self.widest < 1:
            raise SpaceError(f"the widest embedding has at least width 1, got {self.widest}")

    @property
    def embedding_widths(self) -> tuple[int, ...]:
        """The width of each category column's embedding."""
        return tuple(
            self.embedding or min(self.widest, embedding_width(count))
            for count in self.cardinalities
        )

    @property
    def width(self) -> int:
        """What the first layer sees: numbers and embeddings side by side."""
        return self.numbers + sum(self.embedding_widths)

    @property
    def embedding_params(self) -> int:
        """The number of weights in the embeddings."""
        return sum(c * w for c, w in zip(self.cardinalities, self.embedding_widths, strict=True))

    def within(self, params: int) -> TableInputs:
        """The same columns with narrower embeddings, if need be, of at most so many weights.

        Where even a width of 1 takes more, that is what is returned.
        """
        found = self
        while found.embedding is None and found.embedding_params > params:
            widest = max(found.embedding_widths, default=1)
            if widest == 1:
                break
            found = replace(found, widest=widest - 1)
        return found


def embedding_width(cardinality: int) -> int:
    """The rule for an embedding's width: log2(n) / 2 rounded up, from 2 to 50, at most n - 2.

    Much narrower than what is usual for networks without a limit, and better under one: each
    number that an embedding adds to the first layer's inputs costs as much as that layer is wide.
    Code 0 is for what is not there, so n - 1 categories are told apart by n - 2 numbers.
    """
    width = max(2, math.ceil(math.log2(max(1, cardinality)) / 2))
    return max(1, min(WIDEST_EMBEDDING, width, cardinality - 2))


def most_codes(cardinalities: Sequence[int], params: int) -> int:
    """How many codes each column may keep so that embeddings of width 1 have so many weights."""
    most = max(cardinalities, default=1)
    while most > 2 and sum(min(count, most) for count in cardinalities) > params:
        most -= 1
    return most


def as_table_inputs(inputs: int | TableInputs) -> TableInputs:
    """A plain number means that many number columns."""
    return inputs if isinstance(inputs, TableInputs) else TableInputs(inputs)
