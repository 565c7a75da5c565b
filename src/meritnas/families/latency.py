"""How long modules take, measured; tables of costs as plain data."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms

Key = TypeVar("Key", bound=Hashable)

_ROUNDS = 9
_CALLS = 8


def microseconds(
    timed: Mapping[Key, tuple[nn.Module, Tensor]], rounds: int = _ROUNDS
) -> dict[Key, int]:
    """How long each module takes for its input: whole microseconds, the median of some rounds.

    A round times every module once, so that a machine that is busy for a moment disturbs one
    round of all of them and not all rounds of one. Modules compute in one thread.
    """
    found: dict[Key, list[float]] = {key: [] for key in timed}
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            for round_number in range(rounds + 1):
                for key, (module, inputs) in timed.items():
                    seconds = _seconds_a_call(module, inputs)
                    if round_number:  # the first round warms caches up
                        found[key].append(seconds)
    finally:
        torch.set_num_threads(before)
    return {key: max(1, round(1e6 * float(np.median(times)))) for key, times in found.items()}


def _seconds_a_call(module: nn.Module, inputs: Tensor) -> float:
    wait = torch.cuda.synchronize if inputs.device.type == "cuda" else _no_wait
    wait()
    begun = time.perf_counter()
    for _ in range(_CALLS):
        module(inputs)
    wait()
    return (time.perf_counter() - begun) / _CALLS


def _no_wait() -> None:
    pass


def terms_to_json(terms: CostTerms) -> dict[str, Any]:
    """A table of costs as plain data."""
    return {
        "constant": terms.constant,
        "single": [row.tolist() for row in terms.single],
        "pair": [None if table is None else table.tolist() for table in terms.pair],
        "unit": terms.unit,
        "a_unit": terms.a_unit,
    }


def terms_from_json(data: Mapping[str, Any]) -> CostTerms:
    """The inverse of `terms_to_json`."""
    return CostTerms(
        int(data["constant"]),
        tuple(np.array(row, dtype=np.int64) for row in data["single"]),
        tuple(None if t is None else np.array(t, dtype=np.int64) for t in data["pair"]),
        str(data["unit"]),
        int(data["a_unit"]),
    )
