"""How long modules take, measured; tables of costs as plain data."""

from __future__ import annotations

import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms, Factor, chain_terms
from meritnas.devices.placement import placed, waiting_for

Key = TypeVar("Key", bound=Hashable)

Parts: TypeAlias = Mapping[Key, tuple[nn.Module, Tensor | tuple[Tensor, ...]]]
"""Parts of networks, each with what it reads."""

ROUNDS = 9
_CALLS = 8


def microseconds(
    timed: Mapping[Key, tuple[Callable[..., Any], Tensor | tuple[Tensor, ...]]],
    rounds: int = ROUNDS,
) -> dict[Key, int]:
    """How long each module takes for what it reads: whole microseconds, the median of some rounds.

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
                    given = (inputs,) if isinstance(inputs, Tensor) else inputs
                    seconds = _seconds_a_call(module, given)
                    if round_number:  # the first round warms caches up
                        found[key].append(seconds)
    finally:
        torch.set_num_threads(before)
    return {key: max(1, round(1e6 * float(np.median(times)))) for key, times in found.items()}


class Clock(ABC):
    """Who says how long parts of networks take, where they are not timed here and now."""

    @abstractmethod
    def times(self, parts: Parts[Key], rounds: int) -> dict[Key, int]:
        """Whole microseconds of each part.

        Args:
            parts: as they are once trained.
            rounds: how often they would be timed here.
        """


Device: TypeAlias = str | Clock
"""A device of this machine, or who knows the times of another one."""


def microseconds_on(parts: Parts[Key], device: Device, rounds: int = ROUNDS) -> dict[Key, int]:
    """How long parts of networks take on a device, as they are once trained."""
    if isinstance(device, Clock):
        return device.times({key: (part.eval(), row) for key, (part, row) in parts.items()}, rounds)
    moved = {}
    for key, (part, given) in parts.items():
        inputs = (given,) if isinstance(given, Tensor) else given
        moved[key] = placed(part, device).eval(), tuple(placed(one, device) for one in inputs)
    return microseconds(moved, rounds)


def _seconds_a_call(run: Callable[..., Any], inputs: tuple[Tensor, ...]) -> float:
    wait = waiting_for(inputs[0])
    wait()
    begun = time.perf_counter()
    for _ in range(_CALLS):
        run(*inputs)
    wait()
    return (time.perf_counter() - begun) / _CALLS


def terms_to_json(terms: CostTerms) -> dict[str, Any]:
    """A table of costs as plain data."""
    return {
        "sizes": list(terms.sizes),
        "constant": terms.constant,
        "factors": [
            {"decisions": list(one.decisions), "table": one.table.tolist()} for one in terms.factors
        ],
        "unit": terms.unit,
        "a_unit": terms.a_unit,
    }


def terms_from_json(data: Mapping[str, Any]) -> CostTerms:
    """The inverse of `terms_to_json`, and of what earlier versions wrote."""
    constant, unit, a_unit = int(data["constant"]), str(data["unit"]), int(data["a_unit"])
    if "factors" not in data:
        single = [_integers(row) for row in data["single"]]
        pair = [None if table is None else _integers(table) for table in data["pair"]]
        return chain_terms(constant, single, pair, unit, a_unit)
    factors = tuple(
        Factor(tuple(map(operator.index, one["decisions"])), _integers(one["table"]))
        for one in data["factors"]
    )
    return CostTerms(tuple(map(operator.index, data["sizes"])), constant, factors, unit, a_unit)


def _integers(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int64)
