"""The embeddings of a table's categories."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class EmbedTable(nn.Module):
    """[n, numbers + category columns] -> [n, width]: numbers as they are, codes embedded.

    Columns with the same embedding width share one table (each has its own rows of it), so that
    many small columns cost one look-up.

    Args:
        numbers: how many number columns.
        cardinalities: how many codes (0 to n-1) each category column has.
        widths: of the embedding of each category column.
    """

    def __init__(self, numbers: int, cardinalities: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        self.numbers = numbers
        groups: dict[int, list[int]] = {}
        for column, width in enumerate(widths):
            groups.setdefault(width, []).append(column)
        self.columns = tuple(tuple(columns) for columns in groups.values())
        self.tables = nn.ParameterList()
        for number, (width, columns) in enumerate(groups.items()):
            rows = [cardinalities[column] for column in columns]
            self.tables.append(nn.Parameter(torch.empty(sum(rows), width)))
            starts = torch.tensor([0, *rows[:-1]]).cumsum(0)
            self.register_buffer(f"starts{number}", starts, persistent=False)
            picked = torch.tensor([numbers + column for column in columns])
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
