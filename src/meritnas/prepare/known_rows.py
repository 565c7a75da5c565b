"""Which rows a run's network was trained on or chosen by, kept in its folder as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.data.bundle import Bundle, Part
from meritnas.data.row_digests import KnownRows, row_digests
from meritnas.devices.placement import on_cpu
from meritnas.store.run_store import RunStore

_FILE = "rows.safetensors"
_NAME = "digests"
_SHARE = "share"


def write_known_rows(store: RunStore, bundle: Bundle[Any]) -> None:
    """Keep the digests of training and validation rows, where data have rows of numbers.

    Of rows that are streamed nothing is kept: only a sample of them is at hand.
    """
    train = bundle.train.sample
    parts = [part for part in (train, bundle.valid) if _has_rows(part)]
    if len(parts) < 2 or len(train) < len(bundle.train):
        return
    found = [digests_of(_as_found(part), part.target) for part in parts]
    known = KnownRows.of(np.concatenate(found))
    kept = torch.from_numpy(known.digests.view(np.int64).copy())
    store.write_weights(_FILE, {_NAME: kept}, {_SHARE: repr(known.share)})


def read_known_rows(store: RunStore) -> KnownRows | None:
    """Those of a run; None for one that keeps none, as earlier versions did."""
    if not store.has(_FILE):
        return None
    weights, about = store.read_weights(_FILE)
    kept = weights.get(_NAME)
    try:
        share = float(about.get(_SHARE, ""))
    except ValueError:
        return None
    if kept is None or kept.dtype != torch.int64 or kept.ndim != 1 or not 0 < share <= 1:
        return None
    return KnownRows(kept.numpy().view(np.uint64), share)


def digests_of(inputs: Tensor, answers: Tensor) -> np.ndarray:
    """Of encoded rows [n, width] and their encoded targets."""
    return row_digests(on_cpu(inputs).numpy(), on_cpu(answers).numpy())


def _as_found(part: Part) -> Tensor:
    return part.inputs if part.original is None else part.original


def _has_rows(part: Part) -> bool:
    """Whether it is rows of numbers, each with an answer."""
    inputs = part.inputs
    return isinstance(inputs, Tensor) and inputs.ndim == 2 and inputs.dtype == torch.float32
