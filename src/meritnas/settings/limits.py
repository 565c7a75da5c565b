"""What a network may cost at most, in users' units and in those of costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, TypedDict

from meritnas.errors import UsageError
from meritnas.settings.checks import check_fields
from meritnas.settings.fields import shown

_COSTS = {
    "max_params": ("params", 1),
    "max_flops": ("flops", 1),
    "max_size_kb": ("size", 1000),
    "max_latency_ms": ("latency", 1000),
    "max_params_paper": ("params-paper", 1),
    "max_flops_paper": ("flops-paper", 1),
    "max_peak_kb": ("peak", 1000),
}
"""Field -> (the cost that it limits, how many of the cost's units are one of the user's)."""

_MOST = 10**300
"""More than any network has."""

_INT8_SIZE = "size-int8"
"""The cost that `max_size_kb` limits where it is about the file in int8."""


class MoreLimits(TypedDict, total=False):
    """The fields of `Limits` that a search in Python takes beside the four usual ones."""

    max_peak_kb: float | None
    size_of: Literal["float32", "int8"]
    max_params_paper: int | None
    max_flops_paper: int | None


@dataclass(frozen=True)
class Limits:
    """What the network may cost at most; None for as much as it likes.

    Attributes:
        max_params: Most parameters the network may have, embeddings included.
        max_flops: Most multiply-adds a row or image may take.
        max_size_kb: Most kilobytes (1,000 bytes) the stored network may have.
        max_latency_ms: Most milliseconds a row may take on this machine, by timed layers.
        max_params_paper: Most parameters as the space's paper counts.
        max_flops_paper: Most multiply-adds as the space's paper counts.
        max_peak_kb: Most kilobytes (1,000 bytes) of activations at any moment, for one row.
        size_of: The file that --max-size-kb is about: with weights as they are, or 8-bit ones.
    """

    max_params: int | None = field(default=None, metadata=shown(most=_MOST))
    max_flops: int | None = field(default=None, metadata=shown(most=_MOST))
    max_size_kb: float | None = None
    max_latency_ms: float | None = None
    max_params_paper: int | None = field(default=None, metadata=shown(most=_MOST))
    max_flops_paper: int | None = field(default=None, metadata=shown(most=_MOST))
    max_peak_kb: float | None = None
    size_of: Literal["float32", "int8"] = "float32"

    def __post_init__(self) -> None:
        check_fields(self)
        for name, (_, unit) in _COSTS.items():
            value = getattr(self, name)
            if value is not None and unit > 1 and not 0 < value < math.inf:
                raise UsageError(f"{name} must be above 0 and finite, got {value}")
        if self.size_of != "float32" and self.max_size_kb is None:
            raise UsageError(
                f"size_of says which file max_size_kb is about; give that too, got {self.size_of}"
            )

    def by_cost(self) -> dict[str, int]:
        """The limits that are set, as whole numbers of the costs' own units.

        A kilobyte is 1,000 bytes: what keeps this limit keeps it at 1,024 too.
        """
        found: dict[str, int] = {}
        for name, (cost, unit) in self._costs.items():
            value = getattr(self, name)
            if value is not None:
                # As it is written: 1.001 * 1000 of floats is a little less than 1001.
                found[cost] = int(Decimal(repr(float(value))) * unit) if unit > 1 else value
        return found

    @property
    def _costs(self) -> Mapping[str, tuple[str, int]]:
        in_int8 = {"max_size_kb": (_INT8_SIZE, 1000)} if self.size_of == "int8" else {}
        return {**_COSTS, **in_int8}

    @staticmethod
    def from_costs(limits: Mapping[str, int]) -> Limits:
        """The inverse of `by_cost`."""
        if _INT8_SIZE in limits:
            kept = {name: most for name, most in limits.items() if name != _INT8_SIZE}
            whole = Limits.from_costs(kept)
            return replace(whole, max_size_kb=limits[_INT8_SIZE] / 1000, size_of="int8")
        given: dict[str, Any] = {
            name: limits[cost] if unit == 1 else limits[cost] / unit
            for name, (cost, unit) in _COSTS.items()
            if cost in limits
        }
        return Limits(**given)
