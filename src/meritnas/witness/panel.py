"""Who is asked about the candidates of a search, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import CostTerms
from meritnas.data.bundle import Part
from meritnas.families.family import Family
from meritnas.space.architecture import Architecture
from meritnas.supernet.probe import Loss, Probe
from meritnas.witness import beliefs, one_shot, size
from meritnas.witness.beliefs import Beliefs
from meritnas.witness.one_shot import OneShot
from meritnas.witness.size import Size
from meritnas.witness.untrained import GRADIENTS, PATTERNS, Looks, gradients, patterns, some_rows
from meritnas.witness.witness import Witness


def _none(limits: Mapping[str, int]) -> Sequence[Architecture]:
    del limits
    return ()


@dataclass(frozen=True)
class Panel:
    """The witnesses of a search.

    Attributes:
        probe: on the shared weights.
        costs: of architectures, by the cost's name.
        weights: how much the rank of each witness counts, by its name; others are not asked.
        looks: at untrained networks, where anybody is asked who needs them.
        plain: the networks that people build without a search, within limits by their names.
    """

    probe: Probe
    costs: Mapping[str, CostTerms]
    weights: Mapping[str, float]
    looks: Looks | None = None
    plain: Callable[[Mapping[str, int]], Sequence[Architecture]] = _none

    def within(self, feasible: FeasibleSet, believed: Sequence[np.ndarray]) -> tuple[Witness, ...]:
        """All who are asked.

        Args:
            feasible: what was searched; the size that counts is that of its first limit.
            believed: what the search has come to believe, a row for each decision.
        """
        found = self.without_weights(feasible, believed)
        return (OneShot(self.probe), *found) if one_shot.NAME in self.weights else found

    def without_weights(
        self, feasible: FeasibleSet, believed: Sequence[np.ndarray]
    ) -> tuple[Witness, ...]:
        """Those who can say something about a network before it is run with shared weights."""
        counted = feasible.limits[0].name if feasible.limits else "params"
        found: list[Witness] = []
        if beliefs.NAME in self.weights:
            found.append(Beliefs(believed))
        if size.NAME in self.weights and counted in self.costs:
            found.append(Size(self.costs[counted]))
        if size.WORK in self.weights:
            found.append(Size(self.costs[size.WORK], size.WORK))
        if self.looks is not None:
            untrained = {PATTERNS: patterns, GRADIENTS: gradients}
            found += [make(self.looks) for name, make in untrained.items() if name in self.weights]
        return tuple(found)


def panel_of(family: Family, probe: Probe, train: Part, loss: Loss, seed: int) -> Panel:
    """The witnesses that a family asks about its networks.

    Args:
        family: as it is searched.
        probe: on its shared weights.
        train: of which untrained networks see a few rows.
        loss: of their outputs.
        seed: of their weights.
    """
    weights = family.witnesses
    looks = None
    if {PATTERNS, GRADIENTS} & weights.keys():
        looks = Looks(family, some_rows(train), loss, seed, probe.workers)
    return Panel(probe, family.costs, weights, looks, family.plain)
