"""What all programs that leave with a network have in common."""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.data.answers import answer_columns, labels_of, unanswered
from meritnas.data.rows_at_once import rows_at_once
from meritnas.errors import MeritNASError
from meritnas.prediction.answered import check_answered, unanswered_text


class Loaded:
    """A trained network, and what is known about its data.

    Args:
        folder: Where `model.py`, its weights and `encoder.json` are; None for beside this file.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder or Path(__file__).parent)
        told = json.loads((self.folder / "encoder.json").read_text(encoding="utf-8"))
        self.encoder: dict[str, Any] = told["encoder"]
        self.task = SimpleNamespace(**told["task"])
        self.network = load_network(self.folder)


class Program(Loaded):
    """A trained network with all that turns new data into answers."""

    def read(self, path: Path) -> tuple[Any, list[str] | None]:
        """What is in a file, and the names of its rows where they have some."""
        raise NotImplementedError

    def inputs(self, data: Any) -> Tensor:
        """New data as the network reads it."""
        raise NotImplementedError

    @torch.no_grad()
    def outputs(self, data: Any) -> Tensor:
        """What the network says, [n, outputs]."""
        inputs = self.inputs(data)
        some = rows_at_once(inputs)
        torch.manual_seed(0)  # a network that draws noise draws the same every time
        starts = range(0, max(1, len(inputs)), some)
        return torch.cat([self.network(inputs[start : start + some]) for start in starts])

    def predict(self, data: Any) -> np.ndarray:
        """Labels, or numbers on the target's own scale, [n]."""
        outputs = self.outputs(data)
        check_answered(outputs)
        return labels_of(self.task, outputs)

    def table(self, data: Any) -> dict[str, np.ndarray]:
        """The answers, and for classes the probability of each, by the name of the column."""
        outputs = self.outputs(data)
        check_answered(outputs)
        return answer_columns(self.task, outputs)


def load_network(folder: Path) -> nn.Module:
    """The network of `model.py`, with its weights."""
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network: nn.Module = module.load()
    return network.requires_grad_(False)


def csv_text(columns: Mapping[str, np.ndarray]) -> str:
    """Columns as CSV; what is missing is empty, fractions have as many digits as they need."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    return stream.getvalue()


def _cells(column: np.ndarray) -> list[str]:
    if column.dtype.kind == "f":
        texts = column.astype(str)
        texts[np.isnan(column)] = ""
        return list(texts.tolist())
    return ["" if cell is None else str(cell) for cell in column.tolist()]


def answer_files(program: type[Program], arguments: Sequence[str] | None = None) -> int:
    """The command: answers for the rows of a file, as CSV.

    Returns:
        0; 1 if some rows have no answer; 2 if the file cannot be used.
    """
    parser = argparse.ArgumentParser(description="Answers of this network for new data, as CSV.")
    parser.add_argument("file", type=Path, help="new data like those the network was trained on")
    parser.add_argument("--out", type=Path, help="a CSV file; usual: standard output")
    parser.add_argument("--force", action="store_true", help="replace the --out file")
    asked = parser.parse_args(arguments)
    try:
        if asked.out is not None and asked.out.exists() and not asked.force:
            raise FileExistsError(f"{asked.out} exists already; name another file, or add --force")
        known = program()
        data, names = known.read(asked.file)
        outputs = known.outputs(data)
    except (MeritNASError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return _written(known, outputs, names, asked.out)


def _written(program: Program, outputs: Tensor, names: list[str] | None, out: Path | None) -> int:
    columns = answer_columns(program.task, outputs)
    if names is not None:
        columns = {"file": np.array(names, dtype=object), **columns}
    text = csv_text(columns).encode("utf-8", "backslashreplace")
    if out is None:
        sys.stdout.buffer.write(text)
    else:
        out.write_bytes(text)
    lacking = unanswered(outputs)
    if len(lacking):
        told = f"{unanswered_text(lacking, len(outputs))}; they are left empty"
        print(f"error: {told}", file=sys.stderr)
    return 1 if len(lacking) else 0
