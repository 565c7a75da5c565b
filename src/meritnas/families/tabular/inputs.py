from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

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
    """

    numbers: int
    cardinalities: tuple[int, ...] = ()
    embedding: int | None = None
    widest: int = WIDEST_EMBEDDING

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


class EmbedTable(nn.Module):
    """[n, numbers + category columns] -> [n, width]: numbers as they are, codes embedded.

    Columns with the same embedding width share one table (each has its own rows of it), so that
    many small columns cost one look-up.
    """

    def __init__(self, inputs: TableInputs) -> None:
        super().__init__()
        self.numbers = inputs.numbers
        groups: dict[int, list[int]] = {}
        for column, width in enumerate(inputs.embedding_widths):
            groups.setdefault(width, []).append(column)
        self.columns = tuple(tuple(columns) for columns in groups.values())
        self.tables = nn.ParameterList()
        for number, (width, columns) in enumerate(groups.items()):
            rows = [inputs.cardinalities[column] for column in columns]
            self.tables.append(nn.Parameter(torch.empty(sum(rows), width)))
            starts = torch.tensor([0, *rows[:-1]]).cumsum(0)
            self.register_buffer(f"starts{number}", starts, persistent=False)
            picked = torch.tensor([inputs.numbers + column for column in columns])
            self.register_buffer(f"picked{number}", picked, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the embeddings anew.

        Code 0, a missing or unseen category, starts at zero: where training rows never have it,
        it stays there and says nothing, instead of something random.
        """
        for number, table in enumerate(self.tables):
            nn.init.normal_(table)
            with torch.no_grad():
                table[getattr(self, f"starts{number}")] = 0.0

    def forward(self, inputs: Tensor, tables: Sequence[Tensor] | None = None) -> Tensor:
        """Look the codes up, in these tables or its own, and put them behind the numbers."""
        parts = [inputs[:, : self.numbers]]
        held = self.tables if tables is None else tables
        for number, (columns, table) in enumerate(zip(self.columns, held, strict=True)):
            picked, starts = getattr(self, f"picked{number}"), getattr(self, f"starts{number}")
            codes = (inputs.index_select(1, picked).long() + starts).flatten()
            # On a CPU the gradient of index_select takes a fifth of the time of F.embedding's.
            parts.append(table.index_select(0, codes).view(-1, len(columns) * table.shape[1]))
        return torch.cat(parts, dim=1)


def as_table_inputs(inputs: int | TableInputs) -> TableInputs:
    """A plain number means that many number columns."""
    return inputs if isinstance(inputs, TableInputs) else TableInputs(inputs)


def check_widths(widths: Sequence[int]) -> tuple[int, ...]:
    """The widths of a layer, ascending and without repetition; an error names a bad one."""
    try:
        found = tuple(sorted({operator.index(width) for width in widths}))
    except TypeError as error:
        raise SpaceError(f"widths must be whole numbers, got {list(widths)}") from error
    if not found or found[0] < 2:
        raise SpaceError(
            f"a layer needs widths of at least 2 (one unit normalised alone is always 0), "
            f"got {list(widths)}"
        )
    return found
