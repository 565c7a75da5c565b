"""A family with plain networks of another one beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.maximum import Maximum
from meritnas.cost.terms import CostTerms
from meritnas.errors import SpaceError
from meritnas.families.drawing import Drawing
from meritnas.families.family import Absence, Family, Running
from meritnas.families.latency import Device
from meritnas.settings.spec import SpaceSpec
from meritnas.space.architecture import Architecture
from meritnas.space.space import Space
from meritnas.supernet.supernet import Supernet


@dataclass(frozen=True)
class WithPlain(Family):
    """The networks of a family, and those of another that take part in its races.

    What is searched is the family's own. An architecture of the other is known by its text.

    Attributes:
        own: what is searched.
        other: what plain networks are of; its texts are none of `own`.
    """

    own: Family
    other: Family

    def of(self, architecture: Architecture | str) -> Family:
        """The family that an architecture is of; its own where it is of neither."""
        text = architecture if isinstance(architecture, str) else architecture.text
        try:
            self.own.parse(text)
        except SpaceError:
            try:
                self.other.parse(text)
            except SpaceError:
                return self.own
            return self.other
        return self.own

    @property
    def asked(self) -> Family:
        """What is searched."""
        return self.own

    has_plain: ClassVar[bool] = True

    @property
    def plain_limitable(self) -> Collection[str]:
        """Of the other's architectures."""
        return self.other.plain_limitable

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """Those of the other family that keep the same limits; none where it cannot count them."""
        known = self.plain_limitable
        return self.other.plain(limits) if all(name in known for name in limits) else ()

    @property
    def space(self) -> Space:
        """The own decisions."""
        return self.own.space

    @property
    def costs(self) -> Mapping[str, CostTerms]:
        """Of the own architectures."""
        return self.own.costs

    @property
    def maxima(self) -> Mapping[str, Maximum]:
        """Of the own architectures."""
        return self.own.maxima

    def supernet(self, seed: int = 0) -> Supernet:
        """The own."""
        return self.own.supernet(seed)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """The network of one architecture, of either."""
        return self.of(architecture).child(architecture, seed, dropout, auxiliary)

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """Both read the same."""
        return self.own.running(module, device)

    @property
    def witnesses(self) -> Mapping[str, float]:
        """The own."""
        return self.own.witnesses

    def trunk(self, module: nn.Module) -> tuple[nn.Module, nn.Module] | None:
        """The own."""
        return self.own.trunk(module)

    def restrict(self, kept: Sequence[np.ndarray]) -> WithPlain:
        """The own family that has only these options, with the same beside it."""
        return replace(self, own=self.own.restrict(kept))

    @property
    def useful(self) -> Any:
        """What is searched, without what is beside it."""
        return self.own.useful

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The own."""
        return self.own.nodes

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The own."""
        return self.own.tables

    @property
    def spec(self) -> SpaceSpec:
        """The own."""
        return self.own.spec

    @property
    def parts(self) -> tuple[int, ...]:
        """The own."""
        return self.own.parts

    @property
    def absence(self) -> Absence:
        """The own."""
        return self.own.absence

    @property
    def latency(self) -> CostTerms | None:
        """The own."""
        return self.own.latency

    def timed(self, device: Device = "cpu") -> WithPlain:
        """With a latency for every network, of either."""
        return replace(self, own=self.own.timed(device), other=self.other.timed(device))

    def with_latency(self, latency: CostTerms) -> WithPlain:
        """With latencies measured earlier."""
        return replace(self, own=self.own.with_latency(latency))

    @property
    def plain_latency(self) -> CostTerms | None:
        """Of the other's architectures."""
        return self.other.latency

    def with_plain_latency(self, latency: CostTerms) -> WithPlain:
        """With latencies of the other, measured earlier."""
        return replace(self, other=self.other.with_latency(latency))

    @property
    def limitable(self) -> tuple[str, ...]:
        """The own."""
        return self.own.limitable

    def within(self, limits: Mapping[str, int]) -> FeasibleSet:
        """The own architectures whose costs are at most these."""
        return self.own.within(limits)

    def largest(self, name: str = "params") -> int:
        """The own."""
        return self.own.largest(name)

    def lines(self, architecture: Architecture | str) -> list[str]:
        """As its family has it."""
        return self.of(architecture).lines(architecture)

    def short(self, architecture: Architecture | str) -> str:
        """As its family has it."""
        return self.of(architecture).short(architecture)

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """As its family has it."""
        return self.of(architecture).drawings(architecture)

    def layers(self, architecture: Architecture | str) -> tuple[tuple[str, int], ...]:
        """As its family has it."""
        return self.of(architecture).layers(architecture)

    def source(self, architecture: Architecture | str) -> str:
        """As its family has it."""
        return self.of(architecture).source(architecture)

    def parse(self, text: str) -> Architecture:
        """An architecture of either."""
        return self.of(text).parse(text)

    def sees(self, architecture: Architecture | str) -> bool:
        """As its family has it."""
        return self.of(architecture).sees(architecture)

    def pruned(self, architecture: Architecture | str) -> Architecture:
        """As its family has it."""
        return self.of(architecture).pruned(architecture)

    def own_weights(
        self, architecture: Architecture | str, weights: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """As its family has it."""
        return self.of(architecture).own_weights(architecture, weights)

    def known_cost(self, name: str) -> CostTerms | Maximum:
        """The own."""
        return self.own.known_cost(name)

    def cost(self, architecture: Architecture | str, name: str = "params") -> int:
        """What an architecture of either costs."""
        return self.of(architecture).cost(architecture, name)
