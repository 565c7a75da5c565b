"""Families that can tell how long their networks take."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from meritnas.cost.terms import CostTerms
from meritnas.families.family import Family
from meritnas.families.latency import Device


@dataclass(frozen=True)
class TimedFamily(Family):
    """A family whose networks are timed part by part, where their latency is limited.

    Every part of a shape is timed once, in one thread, for one row or image; a network's latency is
    the sum over its parts.

    Attributes:
        latency: microseconds, where they were measured.
    """

    latency: CostTerms | None = field(default=None, compare=False, kw_only=True)

    @property
    def timed_costs(self) -> Mapping[str, CostTerms]:
        """The latency, where it is known."""
        return {} if self.latency is None else {"latency": self.latency}

    @property
    def limitable(self) -> tuple[str, ...]:
        """Latency too, which is timed only where it is limited."""
        return tuple(dict.fromkeys((*self.costs, *self.maxima, "latency")))

    @abstractmethod
    def timed(self, device: Device = "cpu") -> Self:
        """The same family with a latency for every network, measured here and now."""

    def with_latency(self, latency: CostTerms) -> Self:
        """The same family with latencies measured earlier."""
        return replace(self, latency=latency)

    def restricted_latency(self, kept: Sequence[np.ndarray]) -> CostTerms | None:
        """Of a family that has only these option indices of each decision."""
        return None if self.latency is None else self.latency.restrict(kept)
