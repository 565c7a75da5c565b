"""How a network fails on test rows, as a run keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Bundle, Part
from meritnas.data.held_out import looked_at
from meritnas.data.kind import DataKind
from meritnas.data.multilabel import BETWEEN, LABEL_THRESHOLD
from meritnas.data.task import Task
from meritnas.devices.placement import beside, on_cpu
from meritnas.failures.of_classes import of_classes
from meritnas.failures.of_labels import of_labels
from meritnas.failures.of_numbers import of_numbers
from meritnas.failures.of_words import of_words
from meritnas.failures.worst import with_cells, with_pictures, worst_first
from meritnas.training.train import outputs_of


def failures_on(
    module: nn.Module, bundle: Bundle[Any], task: Task, kind: DataKind, cells: pd.DataFrame | None
) -> dict[str, Any]:
    """What a network makes of the test part, as plain data whose size does not grow with it.

    Args:
        module: trained, where the rows are.
        bundle: the data.
        task: with the threshold that belongs to the network.
        kind: of data.
        cells: of the rows that are looked at, as people know them; None where there are none.
    """
    about = {"kind": task.kind, "target": task.target, "of": len(bundle.test)}
    if task.kind == "language":
        return {**about, "words": of_words(module, bundle.test, kind.words(bundle.encoder))}
    chosen = looked_at(len(bundle.test))
    some = bundle.test.rows(beside(torch.from_numpy(chosen), bundle.test.target))
    outputs, target = on_cpu(outputs_of(module, some.inputs)), on_cpu(some.target)
    found = _of_rows(task, outputs, target)
    worst, rows = found.pop("worst"), found.pop("rows")
    pictures = kind.pictures(bundle.encoder, on_cpu(_inputs(some, rows)))
    worst = with_pictures(with_cells(worst, cells, rows), pictures)
    return {**about, "rows": len(chosen), **found, "worst": worst}


def _inputs(part: Part, rows: np.ndarray) -> Tensor:
    return part.inputs[beside(torch.from_numpy(rows), part.inputs)]


def _of_rows(task: Task, outputs: Tensor, target: Tensor) -> dict[str, Any]:
    """What there is to say about a task, the worst rows, and their places among those given."""
    if task.kind == "regression":
        truth = target.double().numpy() * task.scale + task.mean
        said = task.labels(outputs)
        return {"numbers": of_numbers(truth, said), **_worst_numbers(truth, said)}
    chances = task.probabilities(outputs.double()).numpy()
    if task.kind == "multilabel":
        return _of_labels(task, chances, target.numpy() > 0)
    codes = target.long().numpy()
    guess = chances.argmax(axis=1)
    if task.kind == "binary":
        guess = (outputs[:, 0] > task.cut).long().numpy()
    rows = worst_first(-chances[np.arange(len(codes)), codes], guess != codes)
    names = list(map(str, task.classes))
    worst = [
        {
            "truth": names[codes[row]],
            "said": names[guess[row]],
            "chance": _short(chances[row, guess[row]]),
            "of_truth": _short(chances[row, codes[row]]),
        }
        for row in rows
    ]
    return {"classes": of_classes(task, chances, codes, guess), "worst": worst, "rows": rows}


def _worst_numbers(truth: np.ndarray, said: np.ndarray) -> dict[str, Any]:
    off = said - truth
    rows = worst_first(np.abs(off), off != 0)
    worst = [
        {"truth": _short(truth[row]), "said": _short(said[row]), "off": _short(off[row])}
        for row in rows
    ]
    return {"worst": worst, "rows": rows}


def _of_labels(task: Task, chances: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    given = chances > LABEL_THRESHOLD
    right = np.where(truth, chances, 1.0 - chances)
    rows = worst_first(-np.log(np.clip(right, 1e-12, 1.0)).mean(axis=1), (given != truth).any(1))
    names = np.array(list(map(str, task.classes)), dtype=object)
    worst = [
        {"truth": BETWEEN.join(names[truth[row]]), "said": BETWEEN.join(names[given[row]])}
        for row in rows
    ]
    return {"labels": of_labels(names.tolist(), truth, given), "worst": worst, "rows": rows}


def _short(value: float) -> float:
    """A number with as many digits as anybody reads."""
    return float(f"{value:.6g}")
