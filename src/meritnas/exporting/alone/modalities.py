"""The program of a network for several modalities."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.data.files.plain_file import check_plain_file
from meritnas.data.modalities.picture import PictureModality
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.data.modalities.unit_columns import write_unit_columns
from meritnas.data.modalities.vector import VectorModality
from meritnas.data.modalities.word_counts import written_numbers
from meritnas.errors import DataError
from meritnas.exporting.alone.program import Program
from meritnas.exporting.alone.table_files import read_table_file
from meritnas.exporting.alone.table_rows import Cells, columns_of, is_nothing, table_inputs
from meritnas.wording import listed


class ModalityProgram(Program):
    """A network for several modalities: arrays by name, or a table -> answers.

    Arrays are a dict: `video.0` and `video.1` are two features of the modality `video`; texts are
    lists of text, a modality of columns is a data frame or a dict of columns. A data frame, or a
    list of dicts, is a table with the columns of the search.
    """

    def read(self, path: Path) -> tuple[Any, list[str] | None]:
        """A NumPy archive, or a table in a text file."""
        if path.suffix.lower() != ".npz":
            return Table(read_table_file(path, None), path.resolve().parent), None
        check_plain_file(path)
        try:
            with np.load(path, allow_pickle=False) as archive:
                return dict(archive), None
        except (ValueError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} cannot be read ({error}); save plain arrays") from error

    def inputs(self, data: Any) -> Tensor:
        """Rows float32 [n, width]."""
        if not isinstance(data, Mapping):
            return self.inputs(Table(columns_of(data)))
        table = isinstance(data, Table)
        found = _of_columns(data, self.encoder) if table else _of_arrays(data, self.encoder)
        return torch.from_numpy(modality_inputs({**found, **self.pictures(data)}, self.encoder))

    def pictures(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Of modalities that are pictures which a column names, these; here there are none."""
        del data
        return {}


class Predictor(ModalityProgram):
    """A network for several modalities, none of which is named files: see `ModalityProgram`."""


class Table(dict[str, Cells]):
    """Columns of a table by name, so that they are not taken for arrays; and its folder, if any."""

    def __init__(self, columns: Mapping[str, Cells], folder: Path | None = None) -> None:
        super().__init__(columns)
        self.folder = folder


def modality_inputs(views: Mapping[str, Any], encoder: Mapping[str, Any]) -> np.ndarray:
    """Samples as the network reads them, float32 [n, width]; what they lack is zeros.

    Args:
        views: Of each modality that is there its columns, its texts or its arrays.
        encoder: What was learned about each modality.

    Raises:
        DataError: There is none of the modalities, or one is not as those that were learned from.
    """
    modalities = encoder["modalities"]
    names = [each["name"] for each in modalities]
    counts = {name: _count(view) for name, view in views.items()}
    if not counts:
        raise DataError(f"there is none of the modalities {listed(names)}")
    if len(set(counts.values())) > 1:
        told = listed(f"'{name}' has {count:,}" for name, count in counts.items())
        raise DataError(f"all modalities need equally many rows, but {told}")
    layout = RowLayout(tuple((each["name"], _shapes(each)) for each in modalities))
    inputs = np.zeros((next(iter(counts.values())), layout.width), dtype=np.float32)
    for number, each in enumerate(modalities):
        if each["name"] in views:
            out = inputs[:, layout.flag(number) : layout.values(number).stop]
            _encode(each, views[each["name"]], out)
            out[out[:, 0] == 0] = 0.0
    return inputs


def _shapes(modality: Mapping[str, Any]) -> tuple[Shape, ...]:
    kind = modality["kind"]
    if kind == "table":
        return ((len(modality["low"]) + sum(_cardinalities(modality)),),)
    if kind == "written":
        return ((modality["places"],),)
    features = [modality["feature"]] if kind == "picture" else modality["features"]
    return tuple(tuple(feature["shape"]) for feature in features)


def _cardinalities(modality: Mapping[str, Any]) -> list[int]:
    return [len(column["categories"]) + 1 for column in modality["encoder"]["categories"]]


def _encode(modality: Mapping[str, Any], view: Any, out: np.ndarray) -> None:
    """Writes presence and numbers of all samples into `out` [n, 1 + width]."""
    kind = modality["kind"]
    if kind == "table":
        rows = table_inputs(view, modality["encoder"])
        cardinalities = _cardinalities(modality)
        write_unit_columns(out[:, 1:], rows, modality["low"], modality["high"], cardinalities)
        cells = zip(*(view[name] for name in _columns(modality)), strict=True)
        out[:, 0] = [not all(map(is_nothing, row)) for row in cells]
    elif kind == "written":
        out[:, 1:] = written_numbers(
            view,
            modality["way"],
            modality["places"],
            modality["vocabulary"],
            modality["weights"],
        )
        out[:, 0] = [bool(text) for text in view]
    else:
        known = PictureModality if kind == "picture" else VectorModality
        known.from_json(dict(modality)).encode(view, np.arange(len(out)), out)


def _columns(modality: Mapping[str, Any]) -> list[str]:
    """The columns of a table that a modality comes from; none for arrays."""
    if modality["kind"] == "written":
        return list(modality["columns"])
    encoder = modality.get("encoder", {})
    kinds = ("numbers", "dates", "categories")
    return [column["name"] for kind in kinds for column in encoder.get(kind, ())]


def _of_columns(table: Mapping[str, Cells], encoder: Mapping[str, Any]) -> dict[str, Any]:
    """The modalities of a table: columns, texts, and arrays of columns of lists."""
    views: dict[str, Any] = {}
    for each in encoder["modalities"]:
        name, kind = each["name"], each["kind"]
        there = {column: table[column] for column in _columns(each) if column in table}
        if kind == "table" and there:
            views[name] = there
        elif kind == "written" and there:
            views[name] = _joined(list(there.values()))
        elif kind not in ("table", "written") and not each.get("columns"):
            own = {
                column: _stacked(cells) for column, cells in table.items() if _of(column) == name
            }
            views |= _grouped(own, name)
    return views


def _of_arrays(arrays: Mapping[str, Any], encoder: Mapping[str, Any]) -> dict[str, Any]:
    """The modalities of arrays by name."""
    views: dict[str, Any] = {}
    for each in encoder["modalities"]:
        name, kind = each["name"], each["kind"]
        if each.get("columns") and kind == "picture":
            continue
        if kind in ("vector", "picture"):
            own = {key: np.asarray(array) for key, array in arrays.items() if _of(key) == name}
            views |= _grouped(own, name)
        elif name in arrays:
            own_view = arrays[name]
            if hasattr(own_view, "items") and not hasattr(own_view, "to_frame"):
                columns = columns_of(own_view)
                there = {column: columns[column] for column in _columns(each) if column in columns}
                views[name] = there if kind == "table" else _joined(list(there.values()))
            elif kind == "written":
                views[name] = _joined([list(own_view)])
            else:
                raise DataError(f"the modality '{name}' must be columns of a table, as before")
    return views


def _grouped(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, Any]:
    """Features of one modality: one array, or a tuple where their names have a dot."""
    if not arrays:
        return {}
    return {name: arrays[name] if list(arrays) == [name] else tuple(arrays.values())}


def _stacked(cells: Cells) -> np.ndarray:
    """Lists of numbers as an array [n, length], NaN where one is missing."""
    length = next((len(cell) for cell in cells if isinstance(cell, Sequence)), 1)
    gap = [np.nan] * length
    return np.array([gap if is_nothing(cell) else cell for cell in cells], dtype=np.float64)


def _joined(columns: Sequence[Cells]) -> list[str]:
    """The cells of each row as one text, without blanks around them; empty where all are."""
    texts = [["" if is_nothing(cell) else _plain(cell) for cell in cells] for cells in columns]
    return [" ".join(filter(None, row)) for row in zip(*texts, strict=True)]


def _plain(cell: object) -> str:
    return (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)).strip()


def _of(name: str) -> str:
    """The modality an array belongs to: what comes before a dot, or all of its name."""
    before, dot, after = name.partition(".")
    return before if before and dot and after else name


def _count(view: Any) -> int:
    if isinstance(view, dict):
        return len(next(iter(view.values())))
    return len(view[0]) if isinstance(view, tuple) else len(view)
