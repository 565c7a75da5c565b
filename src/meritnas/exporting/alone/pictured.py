"""The program of a network for several modalities with pictures that a column names."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from meritnas.data.pictures.read_named import read_named
from meritnas.exporting.alone.modalities import ModalityProgram, Table
from meritnas.exporting.alone.table_rows import is_nothing


class Predictor(ModalityProgram):
    """A network for several modalities, some of which are pictures that a column names.

    Names in a file lead from its folder and not out of it; names in memory are taken as they are. A
    picture that cannot be read is one that the row lacks. Pictures may also be given as an array
    [n, h, w, channels] by the modality's name.
    """

    def pictures(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The pictures that columns name."""
        folder = data.folder if isinstance(data, Table) else None
        found: dict[str, Any] = {}
        for each in self.encoder["modalities"]:
            if each["kind"] != "picture" or not each.get("columns"):
                continue
            (column,) = each["columns"]
            cells = data.get(column, data.get(each["name"]))
            if cells is None:
                continue
            if np.ndim(cells) > 1:
                found[each["name"]] = np.asarray(cells)
                continue
            channels, height, width = each["feature"]["shape"]
            size = height, width
            pictures = read_named(column, _texts(cells), folder, size, channels)
            if pictures.bad:
                lacking = f"these rows go without '{each['name']}'"
                print(f"note: {pictures.complaint()}; {lacking}", file=sys.stderr)
            found[each["name"]] = pictures
        return found


def _texts(cells: Sequence[object]) -> list[str]:
    return ["" if is_nothing(cell) else str(cell).strip() for cell in cells]
