"""The program of a network for tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from meritnas.exporting.alone.program import Program
from meritnas.exporting.alone.table_files import read_table_file
from meritnas.exporting.alone.table_rows import columns_of, table_inputs


class Predictor(Program):
    """A network for tables: a data frame, a dict of columns or a list of dicts -> answers."""

    def read(self, path: Path) -> tuple[Any, list[str] | None]:
        """The columns of a text file: CSV, TSV and the like."""
        return read_table_file(path, self.encoder.get("decimal")), None

    def inputs(self, data: Any) -> Tensor:
        """Rows float32 [n, width]."""
        return torch.from_numpy(table_inputs(columns_of(data), self.encoder))
