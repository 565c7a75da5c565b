"""A teacher's answers to a run's training rows, kept in its folder as numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from meritnas.data.bundle import Bundle
from meritnas.errors import StoreError
from meritnas.store.run_folder import RESTORE
from meritnas.store.run_store import RunStore

_FILE = "teacher.safetensors"
_NAME = "answers"


def write_answers(store: RunStore, answers: Tensor) -> None:
    """Keep them, as `Part.taught` has them."""
    store.write_weights(_FILE, {_NAME: answers}, {})


def has_answers(store: RunStore) -> bool:
    """Whether they are there."""
    return store.has(_FILE)


def check_answers(store: RunStore) -> None:
    """Complain where those of an estimator are lost, which is not kept itself."""
    if not store.has(_FILE):
        raise StoreError(
            f"run {store.folder} has lost its {_FILE}, the answers of the teacher that it was "
            f"given; {RESTORE}"
        )


def read_answers(store: RunStore, bundle: Bundle[Any]) -> Tensor:
    """Those of a run, to the training rows of its data."""
    found = store.read_weights(_FILE)[0].get(_NAME)
    task, rows = bundle.task, len(bundle.train)
    shape = (rows, task.outputs) if task.kind == "multiclass" else (rows,)
    if found is None or found.shape != shape or found.dtype != torch.float32:
        raise StoreError(
            f"{store.folder / _FILE} has no answers to {rows:,} training rows; {RESTORE}"
        )
    return found
